"""``ehrqa chat`` on a screen (Textual): panes, messages and one worker. What it shows comes from
``engine.chat``; nothing here decides anything about an answer.
"""
