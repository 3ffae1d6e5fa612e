// The console: one view for each address.

import { html, render, useEffect } from "./vendor/htm-preact.js";
import { useLive } from "./api.js";
import { Application } from "./application.js";
import { Applications } from "./applications.js";
import { Audit } from "./audit.js";
import { Clusters } from "./clusters.js";
import { Decisions } from "./decisions.js";
import { Logs } from "./logs.js";
import { Masters } from "./masters.js";
import { Overview } from "./overview.js";
import { Queues } from "./queues.js";
import { addressOf, useRoute } from "./route.js";

const VIEWS = {
  overview: { title: "Overview", view: Overview },
  applications: { title: "Applications", view: Applications },
  queues: { title: "Queues", view: Queues },
  clusters: { title: "Clusters", view: Clusters },
  decisions: { title: "Decisions", view: Decisions },
  masters: { title: "Masters", view: Masters },
  audit: { title: "Audit", view: Audit, isOperators: true },
  application: { title: "Application", view: Application, isInner: true },
  logs: { title: "Logs", view: Logs, isInner: true },
};

function Console() {
  const route = useRoute();
  const caller = useLive("console/caller", 60000);
  const shown = VIEWS[route.page];
  useEffect(() => {
    document.title = `${shown ? (route.item || shown.title) : "Nothing here"} - Heddle`;
  }, [route.page, route.item]);
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
    <header>
      <b>Heddle</b>
      <nav class="row" aria-label="Views">${Object.entries(VIEWS)
        .filter(([, each]) => !each.isInner && (!each.isOperators || caller.data?.is_operator))
        .map(([page, each]) => html`<a href=${addressOf(page)} aria-current=${page === route.page ? "page" : undefined}>${each.title}</a>`)}
        <a href="../cluster">Plain pages</a></nav>
      <span class="who">${caller.data ? `${caller.data.user}${caller.data.is_operator ? ", operator" : ""}` : caller.error}</span>
    </header>
    <main id="main" tabindex="-1">${
      shown ? html`<${shown.view} key=${route.page + route.item} route=${route} caller=${caller.data} />` : html`<h1>Nothing here</h1><p><a href="#/">To the overview</a></p>`
    }</main>`;
}

render(html`<${Console} />`, document.getElementById("console"));
