"""Why a load does not count, by kind: what stands in its JSON beside the words, and what reports count."""

from enum import Enum


class ReasonKind(str, Enum):
    """The rule that a load breaks. harness/measure/rules.py has them in one table, docs/method.md prints it."""

    BROWSER = "browser"
    LED_ON = "led on"
    NO_LOAD_EVENT = "no load event"
    NEVER_ENDED = "requests that never ended"
    UNKNOWN_ANSWERS = "unknown answers"
    NO_DOCUMENT = "no document"
    DOCUMENT_STATUS = "document's status"
    DOCUMENT_BYTES = "document's bytes"
    FAILED_REQUESTS = "failed requests"
    TOO_LITTLE = "too little"
    EARLY_LOAD_EVENT = "early load event"
    OTHER_ANSWERS = "other answers"
    SYN_AGAIN = "SYN sent again"
    FULL_QUEUE = "full queue"
    DROPPED_PACKETS = "dropped packets"
    DATA_WITHOUT_TFO = "data in the SYN without TFO"
    NO_DATA_WITH_TFO = "no data in the SYN with TFO"
    BOX_PASSED = "request past a middlebox"
    NO_COOKIE = "no cookie"
    EARLY_UNASKED = "early data unasked"
    LITTLE_EARLY = "little early data"
    EARLY_DISPUTED = "early data disputed"
    TCP_BESIDE_QUIC = "TCP beside QUIC"
    NOT_LOGGED = "connections not logged"
    SUSPENDED = "suspended"
    STOPPED = "stopped"
    LATE_PACKETS = "late packets"
    LATE_ANSWER = "late answer"
    GAP = "gap"
    WAITED = "waited for a processor"
    STEAL = "steal"
    LABORATORY_ENDED = "laboratory ended"
    """No rule: a server or the delay line ended during the load, and the experiment with it."""
    OTHER = "other"
    """Of a newer version of this program."""

    @classmethod
    def _missing_(cls, value: object) -> "ReasonKind | None":
        return cls.OTHER if isinstance(value, str) else None
