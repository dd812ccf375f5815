"""The host's end of the link: requests with retries, over any wire that carries bytes."""
import secrets
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from systolith.hw.frames import MAX_WORDS, PROTOCOL, Operation, Space, Status
from systolith.sw.runtime.frames import AnswerFrame, FrameFinder, RequestFrame

#: Repetitions of a request before the device is given up, and the longest wait for one, seconds.
RETRIES, LONGEST_WAIT = 6, 2.0
#: Numbers of requests start again after so many.
SEQUENCES = 256
#: Requests under way at a time, where they only write.
WINDOW = 4


class LinkError(RuntimeError):
    """The device cannot be reached, or not as it should be; the message says what to check."""


class DeadError(LinkError):
    """The link works, but the chip behind it does not react; a reset may help."""


class Wire(Protocol):
    """Carries bytes; may lose, double and garble them, but keeps their order."""

    #: What the user calls it.
    name: str

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self, seconds: float) -> bytes:
        """Bytes that have come, at least one unless none comes within so many seconds."""

    def clear(self) -> None:
        """Drop what has come so far."""


@dataclass(frozen=True)
class Facts:
    """What a device says of itself: protocol, data words of a frame, bytes of external memory (0:
    none) and of its beats."""

    protocol: int
    max_words: int
    ext_bytes: int
    bus_bytes: int


@dataclass
class Statistics:
    """What the link did: requests, repetitions of them, and frames dropped as damaged."""

    requests: int = 0
    repeated: int = 0
    dropped: int = 0


class Link:
    """A session with a device.

    Requests carry the session's random number and a sequence number. The device executes each
    number once, in order; whatever is lost is sent again, from the number on that the device
    expects. After a request that failed, the next opens a new session. See ``docs/link.md``.

    Parameters
    ----------
    wire : Wire
        Where the bytes go.
    timeout : float
        Seconds until a request without an answer is repeated; doubled with every repetition of it.

    Attributes
    ----------
    facts : Facts
        What the device said of itself.
    statistics : Statistics
        What was lost on the way.

    Raises
    ------
    LinkError
        When no device answers, or one with another protocol.
    """

    def __init__(self, wire: Wire, *, timeout: float = 0.5):
        self._wire, self._timeout = wire, timeout
        self._finder = FrameFinder()
        self._answers: deque[AnswerFrame] = deque()
        self._sequence = self._session = 0
        self._open = False
        self.statistics = Statistics()
        self.facts = self._hello()

    # Requests ------------------------------------------------------------------------------

    def write(self, address: int, data: bytes, space: Space = Space.CHIP) -> None:
        """Write words to consecutive addresses, or to one where the space is ``FIXED``.

        Raises
        ------
        LinkError
            As every request, when the device does not answer or refuses; see :meth:`_request`.
        """
        step = 4 * self.facts.max_words
        self._request([
            self._make(Operation.WRITE, space=space, data=data[start:start + step],
                       address=address if space & Space.FIXED else address + start)
            for start in range(0, len(data), step)], window=WINDOW)

    def read(self, address: int, size: int, space: Space = Space.CHIP) -> bytes:
        """Read ``size`` bytes, a multiple of 4."""
        step = 4 * self.facts.max_words
        return b"".join(self._request([
            self._make(Operation.READ, space=space, address=address + start,
                       words=min(step, size - start) // 4) for start in range(0, size, step)]))

    def echo(self, data: bytes) -> bytes:
        """What the device returns of these bytes: a multiple of 4, at most one frame of them."""
        return b"".join(self._request([self._make(Operation.ECHO, data=data)]))

    def reset(self) -> None:
        """Reset the chip. Its memories keep their content."""
        self._request([self._make(Operation.RESET)])

    # Sessions ------------------------------------------------------------------------------

    def _hello(self) -> Facts:
        """Open a session."""
        session = secrets.randbits(32)
        self._wire.clear()
        hello = RequestFrame(operation=Operation.HELLO, sequence=0, session=session)
        for attempt in range(RETRIES + 1):
            self._send(hello, again=attempt > 0)
            # Answers to an earlier host may still come; they are none of ours.
            while (answer := self._receive(attempt)) is not None:
                if answer.session == session and answer.status is Status.OK and answer.data:
                    self._session, self._sequence, self._open = session, 1, True
                    return self._checked(answer.data)
        raise LinkError(
            f"no device answers on {self._wire.name}: check the cable, the port, the baud rate, "
            f"and that the board is configured ({self._damage()})")

    def _checked(self, data: bytes) -> Facts:
        protocol, max_words, ext, bus = data[:4]
        if protocol != PROTOCOL or not 0 < max_words <= MAX_WORDS:
            raise LinkError(f"the device on {self._wire.name} speaks version {protocol} of the "
                            f"protocol, this host version {PROTOCOL}: build its bitstream again")
        return Facts(protocol, max_words, 1 << ext if ext else 0, 1 << bus)

    # Exchange ------------------------------------------------------------------------------

    def _make(self, operation: Operation, *, address: int = 0, space: Space = Space.CHIP,
              data: bytes = b"", words: int = 0) -> RequestFrame:
        """The next request."""
        if not self._open:
            # What was under way when a request failed is of the old session, and so are answers.
            self._hello()
        number, self._sequence = self._sequence, (self._sequence + 1) % SEQUENCES
        return RequestFrame(operation=operation, sequence=number, session=self._session,
                            space=space, address=address, words=words or len(data) // 4, data=data)

    def _request(self, requests: Iterable[RequestFrame], *, window: int = 1) -> list[bytes]:
        """Send requests in order, ``window`` at a time; the data of the answers that have some.

        Raises
        ------
        LinkError
            When the device does not answer in spite of all repetitions, another host uses it, it
            refuses a request, or its chip does not react (:class:`DeadError`).
        """
        waiting, flight, result = deque(requests), Flight(), []
        while waiting or flight.sent:
            while waiting and len(flight.sent) < window:
                flight.sent.append(waiting.popleft())
                self._send(flight.sent[-1])
            answer = self._receive(flight.attempt)
            if answer is not None:
                self._refuse(answer)
                if flight.settle(answer) and answer.data:
                    result.append(answer.data)
                if not flight.must_go_back(answer):
                    continue
            elif flight.attempt == RETRIES:
                self._open = False
                raise LinkError(
                    f"the device on {self._wire.name} does not answer any more, asked "
                    f"{RETRIES + 1} times: check cable and power ({self._damage()})")
            flight.go_back(silent=answer is None)
            for request in flight.sent:
                self._send(request, again=True)
        return result

    def _refuse(self, answer: AnswerFrame) -> None:
        """Raise what an answer says is wrong."""
        if answer.session != self._session:
            raise LinkError(
                f"another host uses the device on {self._wire.name} (session {answer.session:08x}, "
                f"ours is {self._session:08x}), or it was restarted: end the other program, or "
                "open the device again")
        if answer.status is Status.DEAD:
            self._open = False
            raise DeadError(f"the chip behind {self._wire.name} does not react to its host port; "
                            "reset the device")
        if answer.status is Status.REQUEST:
            self._open = False
            raise LinkError(f"the device on {self._wire.name} refuses request {answer.sequence}: "
                            "its bitstream does not fit this software; build it again")

    def _send(self, request: RequestFrame, *, again: bool = False) -> None:
        self.statistics.requests += not again
        self.statistics.repeated += again
        self._wire.write(request.encode())

    def _receive(self, attempt: int) -> AnswerFrame | None:
        """The next answer, or None when there is none within the time of this attempt."""
        seconds = min(self._timeout * 2 ** attempt, max(self._timeout, LONGEST_WAIT))
        end = time.monotonic() + seconds
        while not self._answers:
            data = self._wire.read(max(0.0, end - time.monotonic()))
            decoded = map(AnswerFrame.decode, self._finder.feed(data))
            self._answers += [answer for answer in decoded if answer is not None]
            self.statistics.dropped = self._finder.dropped
            if not self._answers and (not data or time.monotonic() >= end):
                return None
        return self._answers.popleft()

    def _damage(self) -> str:
        return f"{self.statistics.dropped} damaged frames came back"


class Flight:
    """Requests that have been sent and not answered, oldest first; all go back when one is lost."""

    def __init__(self) -> None:
        self.sent: deque[RequestFrame] = deque()
        self.attempt = 0
        # Whether all have been repeated since the last that was done. Until then the device
        # complains of each that came behind the lost one, and need be heard once.
        self._went_back = False

    def settle(self, answer: AnswerFrame) -> bool:
        """Drop the requests that the device has executed; whether there were any.

        It executes in order: all before the number that it expects next are done.
        """
        numbers = [request.sequence for request in self.sent]
        if answer.sequence not in numbers:
            return False
        done = (answer.next - numbers[0]) % SEQUENCES
        if not 0 < done <= len(numbers):
            return False
        for _ in range(done):
            self.sent.popleft()
        self.attempt, self._went_back = 0, False
        return True

    def must_go_back(self, answer: AnswerFrame) -> bool:
        """Whether the device has lost a request before the one that it answers."""
        return (answer.status is Status.SEQUENCE and not self._went_back
                and any(request.sequence == answer.sequence for request in self.sent))

    def go_back(self, *, silent: bool) -> None:
        """All are sent again; ``silent``: because no answer came."""
        self._went_back = True
        self.attempt += silent
