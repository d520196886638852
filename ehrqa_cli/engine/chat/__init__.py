"""A chat without its face: the controller, and below it conversation, history and evidence.

`controller.Controller` takes wishes and reports `events`; `commands` are those that can be typed.
Nothing is imported here: the screen is drawn before there is a chat.
"""
