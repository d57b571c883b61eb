"""Net-logs made by hand, with bytes: the events of a corpus."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ABORTED = -3
PREFETCH = 1 << 9
"""The flag of what is fetched ahead, in Chromium's net/base/load_flags_list.h."""
PHASES = ("", " begin", " end")
Event = list[Any]
"""Tick, kind and id of the source, name (with " begin" or " end"), parameters; they may be missing."""


def numbers(events: Sequence[Event], at: int) -> dict[str, int]:
    """Return the numbers of what stands at a place of the events, names or kinds, without its phase."""
    return {name: number for number, name in enumerate(sorted({str(event[at]).split(" ")[0] for event in events}))}


def write_made(events: Sequence[Event], path: Path) -> Path:
    """Write a net-log of events as Chrome does, one a line. `text` among the parameters stands for bytes in ASCII."""
    types, kinds = numbers(events, 3), numbers(events, 1)
    rows = []
    for tick, kind, source, named, *parameters in events:
        name, space, phase = named.partition(" ")
        params = {**parameters[0]} if parameters else {}
        raw = params.pop("text", "").encode() or base64.b64decode(params.get("bytes", ""))
        params |= {"bytes": base64.b64encode(raw).decode(), "byte_count": len(raw)} if raw else {}
        rows.append(json.dumps({"time": str(tick), "type": types[name], "phase": PHASES.index(space + phase),
                                "params": params, "source": {"id": source, "type": kinds[kind]}}))
    constants = {"logEventTypes": types, "logSourceType": kinds, "timeTickOffset": 0,
                 "netError": {"ERR_ABORTED": ABORTED, "ERR_NAME_NOT_RESOLVED": -105},
                 "loadFlag": {"PREFETCH": PREFETCH}, "clientInfo": {"version": "1"}}
    listed = ",\n".join(rows)
    path.write_text(f'{{"constants":{json.dumps(constants)},\n"events": [\n{listed}],\n"polledData": []}}\n')
    return path
