// The console: one view for each address.

import { send, useLive } from "./api.js";
import { Application } from "./application.js";
import { Applications } from "./applications.js";
import { Audit } from "./audit.js";
import { Clusters } from "./clusters.js";
import { Decisions } from "./decisions.js";
import { Logs } from "./logs.js";
import { Masters } from "./masters.js";
import { Overview } from "./overview.js";
import { Confirm } from "./parts.js";
import { Policies } from "./policies.js";
import { Queues } from "./queues.js";
import { may } from "./rights.js";
import { addressOf, useRoute } from "./route.js";
import { Simulate } from "./simulate.js";
import { html, render, useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {{ title: string, view: (props: any) => any, right?: string, isInner?: boolean }} View */

/** @type {Record<string, View>} */
const VIEWS = {
  overview: { title: "Overview", view: Overview },
  applications: { title: "Applications", view: Applications },
  queues: { title: "Queues", view: Queues },
  policies: { title: "Policies", view: Policies },
  clusters: { title: "Clusters", view: Clusters },
  decisions: { title: "Decisions", view: Decisions },
  masters: { title: "Masters", view: Masters },
  simulate: { title: "Simulate", view: Simulate },
  audit: { title: "Audit", view: Audit, right: "administer" },
  application: { title: "Application", view: Application, isInner: true },
  logs: { title: "Logs", view: Logs, isInner: true },
};

/** Ends the session here, then the one at the identity provider if it has a page for that. */
async function logOut() {
  const told = await send("POST", "oidc/logout");
  location.assign(told.location || "../oidc/login");
}

/** The server believes the name, and keeps it in a cookie. @type {import("./types.js").Ask} */
const WHO = {
  title: "Who are you?",
  text: "Heddle believes the name, as a ResourceManager without Kerberos does.",
  field: "User",
  verb: "That is me",
  act: async (name) => location.assign(`?user.name=${encodeURIComponent(name.trim())}${location.hash}`),
};

function Console() {
  const [ask, setAsk] = useState(/** @type {import("./types.js").Ask | null} */ (null));
  const route = useRoute();
  const caller = useLive("console/caller", 60000);
  const shown = Object.hasOwn(VIEWS, route.page) ? VIEWS[route.page] : undefined;
  useEffect(() => {
    document.title = `${shown ? route.item || shown.title : "Nothing here"} - Heddle`;
  }, [route.page, route.item]);
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  const listed = Object.entries(VIEWS).filter(
    ([, each]) =>
      !each.isInner && (each.right ? may(caller.data, each.right) : !caller.data || may(caller.data, "read")),
  );
  const who = caller.data ? `${caller.data.user}, ${caller.data.role}` : caller.error;
  return html`<a class="skip" href="#main" onClick=${skip}>To the content</a>
    <header>
      <b>Heddle</b>
      <nav aria-label="Views">${listed.map(
        ([page, each]) =>
          html`<a href=${addressOf(page)} aria-current=${page === route.page ? "page" : undefined}>${each.title}</a>`,
      )}
        <a href="../cluster">Plain pages</a></nav>
      <span class="who">${who}</span>
      ${caller.data?.is_anonymous && html`<button onClick=${() => setAsk(WHO)}>Who are you?</button>`}
      ${caller.data?.has_session && html`<button onClick=${logOut}>Log out</button>`}
    </header>
    <main id="main" tabindex="-1">${
      shown
        ? html`<${shown.view} key=${route.page + route.item} route=${route} caller=${caller.data} />`
        : html`<h1>Nothing here</h1><p><a href="#/">To the overview</a></p>`
    }</main>
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

const root = document.getElementById("console");
if (root) {
  root.replaceChildren(); // what is said while the scripts are on their way
  render(html`<${Console} />`, root);
}
