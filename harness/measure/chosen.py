"""The network, the web and the browser of an experiment, as a program's options choose them."""

import argparse
from dataclasses import replace

from harness.browser.program import Browser
from harness.files.layout import EACH_ITS_OWN, Layout
from harness.measure.laboratory import BrowserSettings, ReplayedWeb
from harness.measure.latency import thinking_rtts, with_recorded_rtts
from harness.measure.preflight import PageSet, check_connection_limit
from harness.network.star import LinkSpeeds


def chosen_links(arguments: argparse.Namespace, page_set: PageSet, layout: Layout) -> list[LinkSpeeds]:
    """Return the star's links at each RTT of the experiment, in turn.

    They are the same to every server or, with --rtt, each with the delay that was recorded.

    Raises InputError when the recording does not say how far away the servers were.
    """
    down_mbit, up_mbit = arguments.bwhome
    speeds = LinkSpeeds(bw_home_mbit=down_mbit, bw_home_up_mbit=up_mbit, buffer_kb=arguments.buffer,
                        bw_net_mbit=arguments.bwnet, delay_home_ms=arguments.delayhome)
    if arguments.rtt is None:
        return [replace(speeds, delay_net_ms=delay_ms) for delay_ms in arguments.delays]
    return [with_recorded_rtts(speeds, arguments.rtt, delay_ms, page_set, layout)
            for delay_ms in arguments.delays or [None]]


def chosen_web(arguments: argparse.Namespace, page_set: PageSet, layout: Layout = EACH_ITS_OWN) -> ReplayedWeb:
    """Return the pages with how their servers answer.

    Raises InputError when the recording does not say what --think needs.
    """
    return ReplayedWeb(page_set=page_set, http=arguments.http, server=arguments.server, port=arguments.port,
                       tls_port=arguments.tls_port, layout=layout,
                       think_rtts_ms=thinking_rtts(page_set) if arguments.think else None)


def chosen_browser(arguments: argparse.Namespace, browser: Browser) -> BrowserSettings:
    """Return how `browser` loads pages. Raises InputError when its limit of connections to a host cannot be changed."""
    return BrowserSettings(browser=browser, limits=arguments.limits, predict=arguments.predict,
                           post_quantum=arguments.post_quantum, pcap=arguments.pcap, cookies=arguments.cookies,
                           connection_limit=check_connection_limit(browser, arguments.connections_per_host))
