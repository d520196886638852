"""``ehrqa build review``: a clinician accepts, edits or drops each item, the note beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import ContentSwitcher, Footer, Static

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.sets.notes.review import ACCEPTED, EDITED, Content, Decision, Item, Review
from ehrqa_cli.sets.notes.review.export import rows
from ehrqa_cli.sets.notes.review.fields import of_fields, to_fields
from ehrqa_cli.sets.notes.review.figures import figures, times
from ehrqa_cli.sets.notes.review.items import checked
from ehrqa_cli.tui.panes.note import Lines
from ehrqa_cli.tui.review_panes import EditPane, ItemPane, Notes, views
from ehrqa_cli.tui.show import one_line, text

WIDE = 110  # columns from which item and note stand side by side
_EDITING = ("save", "leave_form", "restart")
_READING = ("decide", "edit", "undo", "go", "filter", "figures", "help")
_KEYS = """\
a         accept the item as it is
e         edit it; the note stays in sight
d         drop it
u         undo the last decision
j, k      the next item, the one before
f         only items that are undecided, or all
n, N      the next mark in the note, the one before
], [      the next note of the patient, the one before
up, down  scroll the note
s         the figures so far
q         leave; every decision is kept

While editing:
Tab       from field to field, and to the note
Ctrl-S    keep the edit
Esc       back; what was typed is kept as a draft
Ctrl-R    begin again from the item as it was
"""


class ReviewApp(App[int]):
    """One reviewer, one set. Decisions are written by ``review`` before the screen goes on;
    ``clock`` gives seconds."""

    CSS_PATH = "review.tcss"
    TITLE = "ehrqa build review"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "decide('accepted')", "Accept"),
        Binding("e", "edit", "Edit"),
        Binding("d", "decide('dropped')", "Drop"),
        Binding("u", "undo", "Undo"),
        Binding("j", "go(1)", "Next"),
        Binding("k", "go(-1)", "Back"),
        Binding("f", "filter", "Open"),
        Binding("s", "figures", "Stats"),
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+s", "save", "Keep the edit", priority=True),
        Binding("escape", "leave_form", "Back"),
        Binding("ctrl+r", "restart", "As it was", priority=True),
    ]

    def __init__(
        self,
        review: Review,
        *,
        theme: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        plain = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if plain else None)
        self.review = review
        self._theme_wanted = "ansi-dark" if plain else theme
        self._clock = clock
        self._at = 0
        self._since = 0.0
        self._only_undecided = False
        self._editing = False

    def compose(self) -> ComposeResult:
        """Where we are, item or form, note, what happened, keys."""
        yield Static(markup=False, id="top")
        with Horizontal(id="body"):
            with ContentSwitcher(id="left", initial="item"):
                yield ItemPane(id="item")
                yield EditPane()
            yield Notes()
        yield Static(markup=False, id="status")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin at the first item that is undecided, or whose edit was broken off."""
        if self._theme_wanted:
            self.theme = self._theme_wanted
        self._fit(self.size.width)
        open_ones = self.review.drafts().keys() - self.review.decisions.keys()
        begun = next((k for k, item in enumerate(self._items) if item.id in open_ones), None)
        first = self._undecided(0)
        self._at = begun if begun is not None else first if first is not None else 0
        self._show()
        if begun is not None:
            self._tell("this edit was begun and not kept: e goes on with it")
        elif first is None:
            self._tell_end()

    def on_resize(self, event: events.Resize) -> None:
        """Side by side, or one below the other."""
        self._fit(event.size.width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what makes sense now has a key."""
        if action in _EDITING:
            return self._editing
        if action in _READING:
            return not self._editing
        return True

    # What the user can do.

    def action_decide(self, kind: str) -> None:
        """Accept or drop. An item that was edited is accepted as edited."""
        item = self._item
        before = self.review.decisions.get(item.id)
        if kind == ACCEPTED and before is not None and before.kind in (ACCEPTED, EDITED):
            self._onward(f"{item.id} stays {before.kind}")
        else:
            self._decide(Decision(item.id, kind))

    async def action_edit(self) -> None:
        """Open the form, with what was typed before if that was not kept."""
        item = self._item
        fields = to_fields(self._content)
        draft = self.review.drafts().get(item.id, {})
        typed = {name: str(draft.get(name, value)) for name, value in fields.items()}
        self._editing = True
        self.screen.add_class("-editing")
        await self.query_one(EditPane).fill(typed, fields)
        self.query_one(ContentSwitcher).current = "edit"
        self.refresh_bindings()
        self._tell("your draft of before" if draft else "")
        self.call_after_refresh(self._focus_form)

    def action_save(self) -> None:
        """Keep the edit, if a set can hold it."""
        item, before = self._item, self._content
        try:
            content = of_fields(self.query_one(EditPane).fields(), before)
            content = checked(content, item, self.review.data.notes_of(item))
        except BuildError as error:
            self._tell(f"{error.message}; {error.hint}", bad=True)
            return
        same = content == item.content
        decision = Decision(item.id, ACCEPTED) if same else Decision(item.id, EDITED, content)
        if self._decide(decision):
            self._forget(item.id)

    def action_leave_form(self) -> None:
        """Leave the form; what was typed stays as a draft."""
        self._close_form()
        kept = self._item.id in self.review.drafts()
        self._tell("kept as a draft: e goes on with it" if kept else "")

    async def action_restart(self) -> None:
        """Begin the edit again."""
        self._forget(self._item.id)
        fields = to_fields(self._content)
        await self.query_one(EditPane).fill(fields, fields)
        self._tell("as it was")
        self.call_after_refresh(self._focus_form)

    def action_undo(self) -> None:
        """Take the last decision back, and show its item."""
        try:
            undone = self.review.undo()
        except BuildError as error:
            self._tell(f"{error.message}; {error.hint}", bad=True)
            return
        if undone is None:
            self._tell("nothing to undo")
            return
        self._at = next(k for k, item in enumerate(self._items) if item.id == undone.item)
        self._show()
        self._tell(f"taken back: {undone.item} was {undone.kind}")

    def action_go(self, by: int) -> None:
        """To another item: of the undecided ones only, if so wished."""
        count, decided = len(self._items), self.review.decisions
        for step in range(1, count + 1):
            at = (self._at + by * step) % count
            if not self._only_undecided or self._items[at].id not in decided:
                self._at = at
                self._show()
                self._tell("")
                return
        self._tell_end()

    def action_filter(self) -> None:
        """Undecided items only, or all."""
        self._only_undecided = not self._only_undecided
        if self._only_undecided and self._item.id in self.review.decisions:
            self.action_go(1)
        self._show_top()

    def action_figures(self) -> None:
        """What the paper reports of its review, so far."""
        found = figures(self.review.data, self.review.decisions)
        page = Text()
        for name, value in rows(found):
            page.append(f"{name:<24}", "bold").append(f"{value}\n")
        for head in ("by_level", "by_category"):
            page.append("\n")
            for name, row in found[head].items():
                page.append(f"{one_line(name, 23):<24}", "bold")
                page.append(f"{row['kept']} kept of {row['items']}, {row['undecided']} undecided\n")
        taken = times(self.review)
        if taken is not None:
            page.append(f"\n{'seconds for an item':<24}", "bold")
            page.append(f"{taken['median']} (median of {taken['items']})\n")
        self.push_screen(PageScreen(page))

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(PageScreen(Text(_KEYS)))

    def action_leave(self) -> None:
        """Every decision is on the disk already."""
        self.exit(0)

    def on_edit_pane_typed(self, message: EditPane.Typed) -> None:
        """Keep what is typed, so that nothing is lost if this ends."""
        if not self._editing:
            return
        typed, now = self.query_one(EditPane).fields(), to_fields(self._content)
        try:
            self.review.keep_draft(self._item.id, None if typed == now else typed)
        except BuildError as error:
            self._tell(f"{error.message}; {error.hint}", bad=True)

    # What is shown.

    @property
    def _items(self) -> tuple[Item, ...]:
        return self.review.data.items

    @property
    def _item(self) -> Item:
        return self._items[self._at]

    @property
    def _content(self) -> Content:
        """The item as it is now."""
        decision = self.review.decisions.get(self._item.id)
        return decision.content if decision and decision.content else self._item.content

    def _decide(self, decision: Decision) -> bool:
        seconds = max(0.0, self._clock() - self._since)
        try:
            self.review.decide(decision, seconds)
        except BuildError as error:
            self._tell(f"{error.message}; {error.hint}", bad=True)
            return False
        if self._editing:
            self._close_form()
        self._onward(f"{decision.kind}: {decision.item}")
        return True

    def _forget(self, item: str) -> None:
        try:
            self.review.keep_draft(item, None)
        except BuildError as error:
            self._tell(f"{error.message}; {error.hint}", bad=True)

    def _onward(self, told: str) -> None:
        """To the next undecided item, or stay where there is none."""
        at = self._undecided(self._at + 1)
        if at is not None:
            self._at = at
        self._show()
        if at is None:
            self._tell_end()
        else:
            self._tell(told)

    def _undecided(self, start: int) -> int | None:
        count, decisions = len(self._items), self.review.decisions
        order = ((start + step) % count for step in range(count))
        return next((k for k in order if self._items[k].id not in decisions), None)

    def _show(self) -> None:
        item = self._item
        self.query_one(ItemPane).show(item, self.review.decisions.get(item.id))
        notes = self.review.data.notes_of(item)
        self.query_one(Lines).scroll_home(animate=False)  # where nothing is marked it stays there
        self.query_one(Notes).show(views(notes, self._content))
        self._since = self._clock()
        self._show_top()
        self.set_focus(self.query_one(Lines))

    def _show_top(self) -> None:
        found = figures(self.review.data, self.review.decisions)
        only = " (undecided only)" if self._only_undecided else ""
        parts = [
            f"{self._at + 1} of {found['items']}{only}",
            f"{found['undecided']} undecided",
            f"✓ {found['accepted']}  ✎ {found['edited']}  ✗ {found['dropped']}",
            f"{self.review.data.folder.resolve().name}, {self.review.reviewer}",
        ]
        self.query_one("#top", Static).update(text("  ·  ".join(parts)))

    def _close_form(self) -> None:
        self._editing = False
        self.screen.remove_class("-editing")
        self.query_one(ContentSwitcher).current = "item"
        self.refresh_bindings()
        self.set_focus(self.query_one(Lines))

    def _focus_form(self) -> None:
        fields = self.query("#edit TextArea")
        if self._editing and fields:
            self.set_focus(fields.first())

    def _tell(self, told: str, *, bad: bool = False) -> None:
        status = self.query_one("#status", Static)
        status.update(text(one_line(told, 300)))
        status.set_class(bad, "-bad")

    def _tell_end(self) -> None:
        self._tell("all items are decided; q leaves, --export writes the reviewed set")

    def _fit(self, width: int) -> None:
        self.screen_stack[0].set_class(width < WIDE, "-narrow")


class PageScreen(ModalScreen[None]):
    """A page over the screen; any of the usual keys leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,s,question_mark,enter,space", "leave", "Back")
    ]

    def __init__(self, page: Text) -> None:
        super().__init__()
        self.page = page

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll(id="page"):
            yield Static(self.page, markup=False)

    def action_leave(self) -> None:
        """Back to the item."""
        self.dismiss(None)


def run(review: Review, theme: str | None) -> int:
    """Show the screen until the reviewer leaves; the exit code. Raises UsageError for a theme that
    there is not."""
    from textual.theme import BUILTIN_THEMES

    from ehrqa_cli import config
    from ehrqa_cli.contracts.errors import UsageError
    from ehrqa_cli.tui.driver import tolerate_bytes

    theme = theme or config.load().theme
    if theme is not None and theme not in BUILTIN_THEMES:
        hint = f"the themes are: {', '.join(sorted(BUILTIN_THEMES))}"
        raise UsageError(f"there is no theme {theme!r}", hint)
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    tolerate_bytes()
    return ReviewApp(review, theme=theme).run() or 0
