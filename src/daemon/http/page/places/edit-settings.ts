import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { formatReloaded } from "../../../../admin/requests/reload-answer.ts";
import { readEditable, saveEditable } from "../../../../config/editable-file.ts";
import { literalSecretLine } from "../../../../config/literal-secret.ts";
import { OperatorError } from "../../../../core/errors.ts";
import { displayable, displayableLine } from "../../../../text/displayable.ts";
import { lineDiff } from "../../../../text/line-diff.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { actForm, type Markup } from "../markup.ts";
import type { Act, Asked, Done, Form, Place, Shown } from "../place.ts";
import { settingsPlace } from "./settings.ts";

/** In a form, a character takes up to nine bytes. */
const MAX_BYTES = 1_000_000;

/** The configuration file as text, to be changed: checked, shown as a difference, and only then written. */
export const editPlace: Place = {
  path: "/page/settings/edit",
  name: null,
  async show({ reports, mask, formToken }: Asked): Promise<Shown> {
    const { path, file } = openFile(reports.daemon, mask);
    return editPage({ path, file, text: file.text, formToken, above: "" });
  },
};

/** Checks a changed text, and shows what would change. Nothing is written. */
export const checkAct: Act = {
  path: "/page/settings/check",
  maxBytes: MAX_BYTES,
  on: versionOf,
  run: async (asked, form) => reviewed(asked, form),
};

/** Writes a text that was checked and shown before, and reads the configuration again, as `weir reload`. */
export const saveAct: Act = {
  path: "/page/settings/save",
  maxBytes: MAX_BYTES,
  on: versionOf,
  async run(asked, form, inTime): Promise<Done | Shown> {
    const { daemon } = asked.reports;
    const { path, file } = openFile(daemon, asked.mask);
    const text = textOf(form);
    // Between the two forms the file, a variable or the schema of a new version may have changed.
    if (file.hash !== form("hash") || problemsOf(daemon, text, asked.mask) !== null)
      return reviewed(asked, form);
    if (!inOperatorsWords(() => saveEditable(path, text, file.hash))) return reviewed(asked, form);
    const place = settingsPlace.path;
    const ended = await inTime(daemon.reload());
    if (ended === null)
      return { place, outcome: "late", sentence: "Written. It is still being put in force." };
    const answer = ended.value;
    return answer.kind === "reloaded"
      ? { place, outcome: "done", sentence: `Written. ${formatReloaded(answer)}` }
      : { place, outcome: "refused", sentence: `Written, but not in force. ${answer.problems}` };
  },
};

/** The file that was shown, by its hash. */
function versionOf(form: Form): string | null {
  return /^[\da-f]{64}$/.test(form("hash")) ? `configuration ${form("hash").slice(0, 12)}` : null;
}

/** @throws HTTPException with why it cannot be edited here */
function openFile({ current, checkConfiguration }: ReportedDaemon, mask: (text: string) => string) {
  const { file: path } = current.setup.config;
  if (path === null || checkConfiguration === undefined) throw refused("There is no file to edit.");
  const file = inOperatorsWords(() => readEditable(path));
  const line = literalSecretLine(file.text, mask);
  if (line !== null) throw refused(`The file cannot be shown here: ${secretAt(line)}`);
  return { path, file };
}

function secretAt(line: number): string {
  return (
    `line ${line} holds a secret, or may hold one. Move it to .env first, and name its variable in the file: ` +
    `key = "env:NAME".`
  );
}

function inOperatorsWords<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) throw refused(error.message);
    throw error;
  }
}

function refused(message: string): HTTPException {
  return new HTTPException(409, { message });
}

/** Browsers send `\r\n`, whatever they were given. */
function textOf(form: Form): string {
  return form("text").replaceAll(/\r\n?/g, "\n");
}

/** Why a text may not be written, for the operator; null: it may. */
function problemsOf(
  { checkConfiguration }: ReportedDaemon,
  text: string,
  mask: (text: string) => string,
): string | null {
  const line = literalSecretLine(text, mask);
  if (line !== null) return `Secrets do not stand in this file: ${secretAt(line)}`;
  return checkConfiguration?.(text) ?? null;
}

/** What becomes of a posted text: what is wrong with it, that the file is another by now, or the difference to confirm. */
function reviewed({ reports: { daemon }, mask, formToken }: Asked, form: Form): Shown {
  const { path, file } = openFile(daemon, mask);
  const text = textOf(form);
  // A text that is masked on its way must not come back as one to be written.
  const isShowable = mask(text) === text;
  const edit = { path, file, text: isShowable ? text : file.text, formToken };
  const alert = (words: string): Markup => html`<p class="bad" role="alert">${words}</p>`;
  if (text === file.text)
    return editPage({
      ...edit,
      above: html`<p role="status">This is what the file says: nothing is to be written.</p>`,
    });
  const problems = problemsOf(daemon, text, mask);
  if (file.hash !== form("hash"))
    return editPage({
      ...edit,
      above: html`${alert("Somebody else has changed the file meanwhile. Nothing was written.")}
        <p>From the file as it is now to your text:</p>
        ${isShowable ? diffMarkup(file.text, text) : ""}`,
    });
  if (problems === null) return confirmPage(edit);
  return editPage({
    ...edit,
    above: html`${alert("Nothing was written.")}
      <pre>${displayable(problems)}</pre>`,
  });
}

interface Edit extends ReturnType<typeof openFile> {
  readonly text: string;
  readonly formToken: string;
}

function editPage({ path, file, text, formToken, above }: Edit & { readonly above: Markup | "" }): Shown {
  // A browser drops the first line end.
  const shown = `\n${text}`;
  const inside = html`<label for="text">The whole file</label>
    <textarea id="text" name="text" rows="30" spellcheck="false" autocomplete="off">${shown}</textarea>
    <button>Check, and show the difference</button>`;
  return {
    title: "Edit the settings",
    body: html`<h1>Edit the settings</h1>
      <p><code>${displayableLine(path)}</code> · <a href="${settingsPlace.path}">leave it as it is</a></p>
      ${above} ${actForm({ formToken }, checkAct.path, { hash: file.hash }, inside)}`,
  };
}

function confirmPage({ path, file, text, formToken }: Edit): Shown {
  const button = html`<button>Write it, and put it in force</button>`;
  return {
    title: "Write the settings?",
    body: html`<h1>Write the settings?</h1>
      <p><code>${displayableLine(path)}</code> · <a href="${editPlace.path}">begin again</a></p>
      ${diffMarkup(file.text, text)}
      <p class="dim">Every other byte of the file stays as it is.</p>
      ${actForm({ formToken }, saveAct.path, { hash: file.hash, text }, button)}`,
  };
}

const MARKS = { same: " ", removed: "−", added: "+" };

function diffMarkup(from: string, to: string): Markup {
  return html`<pre class="diff">
${lineDiff(from, to).map(
  ({ kind, number, text }) =>
    html`<span class="${kind}"
      >${`${MARKS[kind]} ${String(number).padStart(5)}  ${displayableLine(text)}\n`}</span
    >`,
)}</pre>`;
}
