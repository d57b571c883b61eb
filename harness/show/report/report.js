/* Says what a bar is that is pointed at or stepped to, and makes figures larger. Without it figures and tables stand. */
(() => {
    "use strict";
    const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

    /* The rows of the table beside the figure that a bar's name, "GROUP-ROW" or "GROUP", stands for, in words. */
    function words(table, name) {
        const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
        const [group, row] = name.split("-").map(Number), body = table.tBodies[group];
        const title = body.querySelector(".group");
        const rows = [...body.rows].filter((each) => !each.querySelector(".group"));
        const said = (row === undefined ? rows : [rows[row]]).map((each) => [...each.cells]
            .map((cell, place) => place ? `${heads[place]} ${cell.textContent}` : cell.textContent).join(", "));
        return [...(title ? [title.textContent] : []), ...said].join("\n");
    }

    document.querySelectorAll(".chart").forEach((chart) => {
        const readout = chart.querySelector(".readout"), drawing = chart.querySelector(".drawing");
        const svg = drawing.querySelector("svg"), table = chart.querySelector("table");
        const names = [...new Set([...svg.querySelectorAll("[data-bar]")].map((bar) => bar.dataset.bar))];
        names.sort((one, other) => one.localeCompare(other, undefined, {numeric: true}));
        let at = -1, size = 1;

        function show(name) {
            at = names.indexOf(name);
            readout.textContent = words(table, name);
            svg.querySelectorAll(".at").forEach((bar) => bar.classList.remove("at"));
            svg.querySelectorAll(`[data-bar="${name}"]`).forEach((bar) => bar.classList.add("at"));
        }

        function zoom(to) {
            const middle = (drawing.scrollLeft + drawing.clientWidth / 2) / drawing.scrollWidth;
            size = Math.min(Math.max(to, 1), 8);
            svg.style.width = `${100 * size}%`;
            drawing.scrollLeft = middle * drawing.scrollWidth - drawing.clientWidth / 2;
        }

        const controls = make("div", {className: "controls"});
        const step = (by) => show(names[(Math.max(at, by > 0 ? -1 : 0) + by + names.length) % names.length]);
        const steps = names.length ? [["Previous bar", () => step(-1)], ["Next bar", () => step(1)]] : [];
        for (const [text, act] of [["Zoom in", () => zoom(size * 2)], ["Zoom out", () => zoom(size / 2)], ...steps]) {
            controls.append(make("button", {type: "button", textContent: text, onclick: act}));
        }
        readout.before(controls);
        readout.textContent = "Point at a bar, or step to one, to read its times here.";
        readout.hidden = !names.length;
        svg.addEventListener("pointerover", (event) => {
            const bar = event.target.closest("[data-bar]");
            if (bar) show(bar.dataset.bar);
        });
    });
})();
