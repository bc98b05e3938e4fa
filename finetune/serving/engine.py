"""A batching text generator, made for the CPU: requests join and leave a running batch.

Every request has a slot in a preallocated key-value cache. One step computes the next token of all
slots at once. A new request's prompt is compared with what the slots hold: the longest common
beginning (system message, worked examples) is copied instead of computed. Any model of transformers
with full attention works; its own forward pass is used.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from finetune.serving.sampling import choose

# Below it, logits divided by the temperature overflow, and the likeliest token wins anyway.
_COLDEST = 1e-5
_STOPPING = "The server is stopping."


@dataclass(frozen=True)
class Request:
    """A prompt and how to continue it; temperature 0 (or next to it) is greedy."""

    prompt: Sequence[int]
    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(frozen=True)
class Generation:
    """The new tokens, without the end token; `finish_reason` is `stop` or `length`."""

    tokens: list[int]
    finish_reason: str


@dataclass
class _Active:
    request: Request
    future: Future[Generation]
    random: torch.Generator | None
    new: list[int] = field(default_factory=list)


class _Window:
    """Which slots and positions the running forward pass writes and sees."""

    def __init__(self) -> None:
        self.slots = slice(0, 1)
        self.rows = torch.zeros(1, 1, dtype=torch.long)
        self.positions = torch.zeros(1, 1, dtype=torch.long)
        self.length = 1


class _SlotLayer(DynamicLayer):  # type: ignore[misc]
    """One layer's keys and values of all slots: (slots, heads, context, head size)."""

    def __init__(
        self, window: _Window, shape: tuple[int, int, int, int], device: torch.device
    ) -> None:
        super().__init__()
        self.window = window
        self.keys, self.values = _zeros(shape, device), _zeros(shape, device)
        self.is_initialized = True

    def get_seq_length(self) -> int:
        """Positions and masks are given with each call, not counted here."""
        return 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new positions; return all that the window sees."""
        window = self.window
        assert self.keys is not None
        assert self.values is not None
        self.keys[window.rows, :, window.positions] = key_states.transpose(1, 2)
        self.values[window.rows, :, window.positions] = value_states.transpose(1, 2)
        seen = (window.slots, slice(None), slice(window.length))
        return self.keys[seen], self.values[seen]


def _zeros(shape: tuple[int, int, int, int], device: torch.device) -> Tensor:
    if device.type == "cpu":
        # NumPy's zeros are untouched pages: memory is taken as positions are first written.
        return torch.from_numpy(np.zeros(shape, np.float32))
    return torch.zeros(shape, device=device)


class Engine:
    """Generates for many requests at once, in its own thread. Close it when done."""

    def __init__(self, model: PreTrainedModel, stop: set[int], slots: int, context: int) -> None:
        self.context = context
        self._model = model.eval()
        self._stop = stop
        self._device = next(model.parameters()).device
        self._window = _Window()
        config = model.config
        heads = config.num_key_value_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (slots, heads, context, size)
        layers = range(config.num_hidden_layers)
        self._layers = [_SlotLayer(self._window, shape, self._device) for _ in layers]
        self._cache = Cache(layers=list(self._layers))
        self._held: list[list[int]] = [[] for _ in range(slots)]
        self._active: list[_Active | None] = [None] * slots
        # None is what `close` puts: it wakes the thread.
        self._waiting: queue.SimpleQueue[_Active | None] = queue.SimpleQueue()
        self._closing = False
        # Held to queue and to close, so that no request is queued that nobody will answer.
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Future[Generation]:
        """Queue a request; cancel the future to give it up. Prompt + max_tokens <= context.

        The future fails with what went wrong in the engine. Raises ValueError for a request that cannot
        be generated, RuntimeError once the engine was closed.
        """
        if not request.prompt or len(request.prompt) + request.max_tokens > self.context:
            raise ValueError("The prompt is empty, or with max_tokens longer than the context.")
        random = None
        if request.temperature >= _COLDEST:
            random = torch.Generator()
            random.seed() if request.seed is None else random.manual_seed(request.seed)
        future: Future[Generation] = Future()
        with self._door:
            if self._closing:
                raise RuntimeError(_STOPPING)
            self._waiting.put(_Active(request, future, random))
        return future

    @property
    def is_alive(self) -> bool:
        """Whether requests are still answered."""
        return self._thread.is_alive() and not self._closing

    def close(self) -> None:
        """Stop the thread; requests under way and those that wait fail."""
        self._shut()
        self._thread.join()

    def _shut(self) -> None:
        with self._door:
            self._closing = True
            self._waiting.put(None)

    def _run(self) -> None:
        try:
            with torch.inference_mode():
                while self._admit():
                    self._step()
        finally:
            # However the loop ended: fail the requests that wait and refuse new ones.
            self._shut()
            self._fail_all(RuntimeError(_STOPPING))
            while not self._waiting.empty():
                if entry := self._waiting.get():
                    _refuse(entry, RuntimeError(_STOPPING))

    def _fail_all(self, error: Exception) -> None:
        for slot in range(len(self._active)):
            self._fail(slot, error)

    def _fail(self, slot: int, error: Exception) -> None:
        """End the request of a slot, if it has one. What the slot holds may be half written."""
        active, self._active[slot], self._held[slot] = self._active[slot], None, []
        if active:
            _refuse(active, error)

    def _admit(self) -> bool:
        """Give waiting requests their slots; False when the engine was closed."""
        while None in self._active and not self._closing:
            try:
                entry = self._waiting.get(block=not any(self._active))
            except queue.Empty:
                return True
            if entry and not entry.future.cancelled():
                self._start(entry)
        return not self._closing

    def _start(self, entry: _Active) -> None:
        """Compute a prompt in the first free slot and choose its first token."""
        slot = self._active.index(None)
        prompt = list(entry.request.prompt)
        self._active[slot] = entry
        try:
            logits = self._read(prompt, slot)
        except Exception as error:  # one request's failure must not end the others
            self._fail(slot, error)
            return
        self._held[slot] = prompt
        self._take(slot, logits)

    def _read(self, prompt: list[int], slot: int) -> Tensor:
        """Logits (vocabulary,) after `prompt`, whose keys and values `slot` holds then."""
        start = self._copy_beginning(prompt, slot)
        length = len(prompt)
        positions = torch.arange(start, length)[None]
        window = self._window
        window.slots, window.length = slice(slot, slot + 1), length
        window.rows = torch.full((1, 1), slot)
        # Causal: a token sees the copied beginning and what comes before it in its own prompt.
        seen = torch.arange(length)[None, :] <= positions[0][:, None]
        return self._forward(torch.tensor([prompt[start:]]), positions, seen[None, None])[0]

    def _copy_beginning(self, prompt: list[int], slot: int) -> int:
        """Copy the longest beginning of `prompt` that a slot holds; return its length."""
        # One token at least is computed, since its logits are needed.
        common = [_common(prompt[:-1], held) for held in self._held]
        donor = max(range(len(common)), key=lambda i: (common[i], i == slot))
        length = common[donor]
        if donor != slot and length:
            for layer in self._layers:
                for kept in (layer.keys, layer.values):
                    assert kept is not None
                    kept[slot, :, :length] = kept[donor, :, :length]
        return length

    def _step(self) -> None:
        """One more token for every active slot."""
        busy = [i for i, active in enumerate(self._active) if active]
        try:
            logits = self._next_logits(busy)
        except Exception as error:  # the pass was for all slots, so all their requests failed
            self._fail_all(error)
            return
        for i in busy:
            self._held[i].append(self._newest(i))
            self._take(i, logits[i])

    def _next_logits(self, busy: Sequence[int]) -> Tensor:
        """Logits (slots, vocabulary) after the newest token of every slot in `busy`."""
        # The slots of a pass are a slice of the cache, which costs no copy; a choice of slots would copy
        # every key and value of theirs for every token. So free slots between busy ones idle along.
        count = busy[-1] + 1
        tokens = torch.zeros(count, 1, dtype=torch.long)
        # An idle slot writes to the last position, which no answer ever reaches: what it holds stays good.
        positions = torch.full((count, 1), self.context - 1)
        for i in busy:
            tokens[i, 0] = self._newest(i)
            positions[i, 0] = len(self._held[i])
        window = self._window
        # All slots see as many positions as the longest answer needs; each masks what is beyond its own.
        # That wastes a little attention and saves a pass for every length.
        window.slots, window.length = slice(0, count), int(positions[busy].max()) + 1
        window.rows = torch.arange(count)[:, None]
        seen = torch.arange(window.length)[None, :] <= positions
        return self._forward(tokens, positions, seen[:, None, None])

    def _newest(self, slot: int) -> int:
        active = self._active[slot]
        assert active is not None
        return active.new[-1]

    def _forward(self, tokens: Tensor, positions: Tensor, seen: Tensor) -> Tensor:
        """Logits (rows, vocabulary) after the last of `tokens` (rows, length)."""
        window, device = self._window, self._device
        window.rows, window.positions = window.rows.to(device), positions.to(device)
        output = self._model(
            input_ids=tokens.to(device), position_ids=window.positions,
            attention_mask=seen.to(device), cache=self._cache, use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        logits: Tensor = output.logits[:, -1].float().cpu()
        return logits

    def _take(self, slot: int, logits: Tensor) -> None:
        """Append the next token to the slot's answer, or end it."""
        active = self._active[slot]
        assert active is not None
        request = active.request
        try:
            token = choose(logits, request.temperature, request.top_p, active.random)
        except Exception as error:  # such as NaN logits
            self._fail(slot, error)
            return
        if token in self._stop:
            self._finish(slot, "stop")
            return
        active.new.append(token)
        if len(active.new) >= request.max_tokens:
            self._finish(slot, "length")
        elif active.future.cancelled():
            self._active[slot] = None

    def _finish(self, slot: int, reason: str) -> None:
        active = self._active[slot]
        assert active is not None
        self._active[slot] = None
        if active.future.set_running_or_notify_cancel():
            active.future.set_result(Generation(active.new, reason))


def _refuse(entry: _Active, error: Exception) -> None:
    """Answer with `error`, unless the client has given up: a cancelled future takes no answer."""
    if entry.future.set_running_or_notify_cancel():
        entry.future.set_exception(error)


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of the common beginning of `a` and `b`."""
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return i
    return min(len(a), len(b))
