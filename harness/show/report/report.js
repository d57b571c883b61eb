"use strict";
/* Draws the charts of report.html: each when it comes near the screen, in the colours of the page's light or dark mode.
   Whatever text comes from a page (URLs, statuses) is hostile: plotly reads some HTML in labels, so it is escaped. */
(() => {
    const report = JSON.parse(document.getElementById("report-data").textContent);
    const root = document.documentElement;
    const PRINTED_WIDTH = 680;      // of an A4 page between its margins, in CSS pixels
    const ROW_HEIGHT = 11, TALLEST = 1300;
    const coarse = matchMedia("(pointer: coarse)");
    const charts = new Map();       // key -> {plot, spec, shown, drawn}

    const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
    const ink = (name) => css(`--ink-${name}`);
    const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    const narrow = () => root.clientWidth < 640;

    function make(tag, properties, ...children) {
        const element = Object.assign(document.createElement(tag), properties);
        element.append(...children);
        return element;
    }

    function shortened(url) {
        const most = narrow() ? 34 : 76, half = Math.floor(most / 2);
        return url.length <= most ? url : `${url.slice(0, half)}…${url.slice(1 - half)}`;
    }

    function axis(more) {
        return Object.assign({gridcolor: css("--grid"), linecolor: css("--rule"), zerolinecolor: css("--rule"),
            tickcolor: css("--rule"), automargin: true}, more);
    }

    function layout(more) {
        const clear = "rgba(0,0,0,0)";
        return Object.assign({
            paper_bgcolor: clear, plot_bgcolor: clear, autosize: true, margin: {l: 44, r: 12, t: 20, b: 48},
            font: {color: css("--text"), family: getComputedStyle(document.body).fontFamily, size: narrow() ? 11 : 13},
            hoverlabel: {bgcolor: css("--raised"), bordercolor: css("--faint"), align: "left",
                font: {color: css("--text"), size: narrow() ? 11 : 13}},
            legend: {orientation: "h", x: 0, y: 1, yanchor: "bottom", xanchor: "left", traceorder: "normal"},
            dragmode: coarse.matches ? false : "zoom",
        }, more);
    }

    /* One request of one load in words; `separator` parts its pieces. */
    function words(name, bar, separator) {
        if (!bar) return `${name}: not requested, or not over when the load ended`;     // the text log tells no more
        const [start, end, phases, status, bytes, connection, error, answer] = bar;
        const parts = [`${name}: ${start.toFixed(0)} to ${end.toFixed(0)} ms (${(end - start).toFixed(0)} ms)`];
        if (phases) {
            const taken = report.phases.map((phase, place) => [phase, phases[place]]).filter(([, length]) => length > 0);
            parts.push(taken.map(([phase, length]) => `${phase} ${length.toFixed(0)}`).join(", ") + " ms");
        }
        const rest = [];
        if (status) rest.push(`status ${status}`);
        if (bytes !== null) rest.push(`${bytes.toLocaleString("en")} bytes`);
        if (connection) rest.push(`connection ${connection}`);
        if (error) rest.push(error);
        if (answer) rest.push(report.answers[answer]);
        if (rest.length) parts.push(rest.join(", "));
        return parts.join(separator);
    }

    function pieces([start, end, phases]) {
        const found = [];
        let at = start;
        (phases || []).forEach((length, place) => {
            if (length > 0) found.push([report.phases[place], at, length]);
            at += length;
        });
        return found.length ? found : [[phases ? "receive" : "total", start, Math.max(end - start, 1)]];
    }

    function waterfallTraces(spec, shown) {
        const traces = new Map();
        spec.loads.forEach((load, tfo) => {
            if (!load || !shown[tfo]) return;
            const both = shown[0] && shown[1] && spec.loads[0] && spec.loads[1];
            spec.rows.forEach((row, index) => {
                const bar = row[1 + tfo];
                if (!bar) return;
                const lines = words(load.name, bar, "\n").split("\n").slice(0, narrow() ? 1 : 3);    // a phone has no room
                const text = [`<b>${index + 1}. ${escaped(shortened(row[0]))}</b>`, ...lines.map(escaped)].join("<br>");
                for (const [phase, start, length] of pieces(bar)) {
                    const key = `${phase} ${tfo}`;
                    if (!traces.has(key)) {
                        traces.set(key, {type: "bar", orientation: "h", name: phase, legendgroup: phase, x: [], y: [], base: [],
                            width: both ? 0.4 : 0.8, hoverinfo: "text", hovertext: [], customdata: [], textposition: "none",
                            marker: {color: ink(phase), line: {color: css("--outline"), width: tfo && both ? 0.6 : 0}}});
                    }
                    const trace = traces.get(key);
                    trace.x.push(length);
                    trace.base.push(start);
                    trace.y.push(index + 1 + (both ? (tfo ? 0.21 : -0.21) : 0));
                    trace.hovertext.push(text);
                    trace.customdata.push(index);
                }
            });
        });
        const order = [...report.phases, "total"], named = new Set();
        const sorted = [...traces.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
        for (const trace of sorted) {
            trace.showlegend = !named.has(trace.name);
            named.add(trace.name);
        }
        return sorted;
    }

    /* The load events as lines from top to bottom, named in the legend, where they hide no bar. */
    function loadEventTraces(spec, shown) {
        return spec.loads.map((load, tfo) => ({load, tfo})).filter(({load, tfo}) => load && shown[tfo] && load.load_event_ms)
            .map(({load, tfo}) => ({type: "scatter", mode: "lines", x: [load.load_event_ms, load.load_event_ms],
                y: [0.4, spec.rows.length + 0.6], line: {color: css("--text"), width: 1.5, dash: tfo ? "solid" : "dash"},
                hoverinfo: "skip", customdata: [], name: `load event, ${load.name}: ${(load.load_event_ms / 1000).toFixed(3)} s`}));
    }

    /* A mark at the start of each request that did not get the answer recorded for it; the legend says which. */
    function answerTraces(spec, shown) {
        const both = shown[0] && shown[1] && spec.loads.every(Boolean);
        return Object.entries(report.answers).map(([kind, name], place) => {
            const trace = {type: "scatter", mode: "markers", name, x: [], y: [], hoverinfo: "skip", customdata: [],
                marker: {symbol: ["diamond-open", "x-thin-open", "circle-open"][place], size: 8, color: css("--text"), line: {width: 1.5}}};
            spec.rows.forEach((row, index) => [0, 1].forEach((tfo) => {
                const bar = row[1 + tfo];
                if (!shown[tfo] || !bar || bar[7] !== kind) return;
                trace.x.push(bar[0]);
                trace.y.push(index + 1 + (both ? (tfo ? 0.21 : -0.21) : 0));
            }));
            return trace;
        }).filter((trace) => trace.x.length);
    }

    /* The critical path as a line from step to step; with both loads shown it is drawn when its name is clicked. */
    function pathTraces(spec, shown) {
        const both = shown[0] && shown[1] && spec.loads.every(Boolean);
        if (both && narrow()) return [];        // no room for their names
        return spec.loads.map((load, tfo) => ({load, tfo})).filter(({load, tfo}) => load && shown[tfo] && load.path.length)
            .map(({load, tfo}) => ({type: "scatter", mode: "lines", name: `critical path, ${load.name}`, hoverinfo: "skip", customdata: [],
                x: load.path.flatMap(([, start, end]) => [start, end]),
                y: load.path.flatMap(([row]) => Array(2).fill(row + 1 + (both ? (tfo ? 0.21 : -0.21) : 0))),
                line: {color: css("--outline"), width: 2}, visible: both ? "legendonly" : true}));
    }

    function waterfall(chart) {
        const {spec, shown} = chart, rows = spec.rows.length;
        const ends = spec.rows.flatMap((row) => [row[1], row[2]]).filter(Boolean).map((bar) => bar[1]);
        const last = Math.max(...spec.loads.map((load) => (load && load.load_event_ms) || 0), ...ends) * 1.02;
        const bands = spec.rows.map((_, index) => index + 1).filter((place) => place % 2 === 0);
        return {data: [...waterfallTraces(spec, shown), ...loadEventTraces(spec, shown), ...pathTraces(spec, shown), ...answerTraces(spec, shown)], layout: layout({
            barmode: "overlay", hovermode: "closest", height: Math.min(TALLEST, 190 + ROW_HEIGHT * Math.max(rows, 8)),
            xaxis: axis({title: {text: "Time since the start of the load (ms)"}, range: chart.range || [0, last], minallowed: 0}),
            yaxis: axis({title: {text: "Request"}, range: [rows + 0.6, 0.4], fixedrange: true, tick0: 0,
                dtick: rows <= 20 ? 1 : rows <= 100 ? 5 : 10, showgrid: false, zeroline: false}),
            shapes: bands.map((place) => ({type: "rect", xref: "paper", x0: 0, x1: 1, y0: place - 0.5, y1: place + 0.5,
                layer: "below", line: {width: 0}, fillcolor: css("--band")})),
        }), last};
    }

    /* A figure made in Python; its traces name their colour in meta.ink. */
    function figure(chart) {
        const {data, layout: more} = JSON.parse(JSON.stringify(chart.spec.figure));
        for (const trace of data) {
            const color = ink(trace.meta.ink);
            trace.marker = Object.assign({}, trace.marker, {color});
            if (trace.type === "scatter") trace.line = Object.assign({}, trace.line, {color});
            if (trace.error_y) trace.error_y.color = color;
        }
        const axes = {};
        for (const name of Object.keys(more).filter((key) => /^[xy]axis/.test(key))) axes[name] = axis(more[name]);
        return {data, layout: layout(Object.assign({}, more, axes))};
    }

    function draw(chart) {
        const made = chart.spec.kind === "waterfall" ? waterfall(chart) : figure(chart);
        if (root.classList.contains("printing")) made.layout.width = PRINTED_WIDTH;
        chart.last = made.last;
        chart.plot.style.minHeight = "0";
        Plotly.react(chart.plot, made.data, made.layout, {responsive: true, displayModeBar: false, doubleClick: "reset", plotlyServerURL: ""});
        if (!chart.drawn && chart.spec.kind === "waterfall") {
            chart.plot.on("plotly_hover", (event) => read(chart, event.points[0].customdata));
        }
        chart.drawn = true;
    }

    /* Say below the chart what row `index` is: in full, and for those who cannot point. */
    function read(chart, index) {
        const row = chart.spec.rows[index];
        chart.at = index;
        chart.readout.textContent = [`Request ${index + 1} of ${chart.spec.rows.length}: ${row[0]}`, ...chart.spec.loads
            .map((load, tfo) => load && words(load.name, row[1 + tfo], "; ")).filter(Boolean)].join("\n");
    }

    function step(chart, by) {
        const rows = chart.spec.rows.length;
        read(chart, chart.at === undefined ? (by > 0 ? 0 : rows - 1) : (chart.at + by + rows) % rows);
        const [from, to] = chart.plot.layout.xaxis.range, bars = chart.spec.rows[chart.at].slice(1).filter(Boolean);
        if (!bars.some(([start]) => start >= from && start <= to)) zoom(chart, null);      // it is out of sight
        const points = chart.plot.data.map((trace, curveNumber) => ({curveNumber, pointNumber: trace.customdata.indexOf(chart.at)}));
        Plotly.Fx.hover(chart.plot, points.filter(({pointNumber}) => pointNumber >= 0).slice(0, 1));
    }

    function zoom(chart, change) {
        const [from, to] = chart.plot.layout.xaxis.range;
        chart.range = change && change(from, to, chart.last);
        Plotly.relayout(chart.plot, {"xaxis.range": chart.range || [0, chart.last]});
    }

    const ZOOMS = [
        ["Zoom in", (from, to) => [from + (to - from) / 4, to - (to - from) / 4]],
        ["Zoom out", (from, to, last) => [Math.max(0, from - (to - from) / 2), Math.min(last, to + (to - from) / 2)]],
        ["Earlier", (from, to) => [Math.max(0, from - (to - from) / 2), Math.max(to - from, to - (to - from) / 2)]],
        ["Later", (from, to, last) => [Math.min(last - (to - from), from + (to - from) / 2), Math.min(last, to + (to - from) / 2)]],
        ["Whole load", null],
    ];

    function choice(legend, name, options, chosen, choose) {
        return make("fieldset", {}, make("legend", {textContent: legend}), ...options.map((option) => make("label", {},
            make("input", {type: "radio", name, checked: option === chosen, onchange: () => choose(option)}), option)));
    }

    function addControls(chart, key) {
        const button = (text, act) => make("button", {type: "button", textContent: text, onclick: act});
        const controls = make("div", {className: "controls"});
        if (chart.spec.loads.every(Boolean)) {
            controls.append(choice("Show", `show-${key}`, ["both", "TFO off", "TFO on"], "both", (option) => {
                chart.shown = [option !== "TFO on", option !== "TFO off"];
                draw(chart);
            }));
        }
        controls.append(...ZOOMS.map(([text, change]) => button(text, () => zoom(chart, change))),
            button("Previous request", () => step(chart, -1)), button("Next request", () => step(chart, 1)));
        chart.plot.before(controls);
        chart.readout = chart.plot.parentElement.querySelector(".readout");
        chart.readout.textContent = "Point at a request, or step to one, to read its details here.";
        chart.readout.setAttribute("aria-live", "polite");
        chart.readout.hidden = false;
    }

    /* Of a page's views, one for each RTT, show the one chosen. */
    function addViewChoice(views, number) {
        const all = [...views.querySelectorAll(".view")], names = all.map((view) => view.dataset.name);
        const show = (name) => all.forEach((view) => { view.hidden = view.dataset.name !== name; });
        if (all.length < 2) return;
        views.prepend(make("div", {className: "controls"}, choice("RTT", `rtt-${number}`, names, names[0], (name) => {
            show(name);
            for (const chart of charts.values()) if (chart.drawn && views.contains(chart.plot)) Plotly.Plots.resize(chart.plot);
        })));
        show(names[0]);
    }

    const visible = new IntersectionObserver((entries) => {
        for (const entry of entries) {
            const chart = charts.get(entry.target.parentElement.dataset.chart);
            if (entry.isIntersecting && !chart.drawn) draw(chart);
        }
    }, {rootMargin: "400px"});

    document.querySelectorAll(".chart").forEach((element) => {
        const key = element.dataset.chart, plot = element.querySelector(".plot"), spec = report.charts[key];
        const chart = {plot, spec, shown: [true, true], drawn: false};
        charts.set(key, chart);
        if (spec.kind === "waterfall") addControls(chart, key);
        visible.observe(plot);
    });
    document.querySelectorAll(".views").forEach(addViewChoice);

    const redraw = (which) => charts.forEach((chart) => { if (which(chart)) draw(chart); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw((chart) => chart.drawn));
    addEventListener("beforeprint", () => {
        root.classList.add("printing");
        redraw((chart) => chart.plot.offsetParent !== null);
    });
    addEventListener("afterprint", () => {
        root.classList.remove("printing");
        redraw((chart) => chart.drawn);
    });
})();
