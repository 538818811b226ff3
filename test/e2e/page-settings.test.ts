// proves: src/daemon/http/page/places/edit-settings.ts, src/cli/shared/configuration-source.ts, src/config/editable-file.ts
// The configuration file of a running daemon, changed on its page: checked, shown, written whole or not at all, and put in force.
import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { openHome, openSeed } from "../support/e2e.ts";
import { echo } from "../support/e2e-model.ts";
import { ask, type HttpAnswer } from "../support/http-client.ts";
import { startModelServer } from "../support/model-server.ts";
import { formsIn, type TestForm, unescaped } from "../support/page.ts";

const CONFIG = `# <the file> of "Ann" & others</textarea><script>alert(1)</script>\n[[agents]]\nid = "main"\nname = "Mira"  # her name\n\n[log]\nlevel = "info"\n`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const seed = stack.use(await openSeed());
const model = stack.use(await startModelServer());
model.respond(echo);
const home = stack.use(await openHome({ modelUrl: model.url, config: CONFIG, seed }));
const file = path.join(home.folder, "config.toml");
await chmod(file, 0o640);
const daemon = home.start("start");
await daemon.line("ready");
const opened = await home.run("open");
const { host, port, hash: code } = new URL(opened.out[0] ?? "");
const own = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
const where = `http://127.0.0.1:${port}`;

async function post(
  target: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const body = new URLSearchParams(fields).toString();
  return ask(`${where}${target}`, {
    method: "POST",
    headers: {
      ...own,
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  });
}

const signedIn = await post("/page/sign-in", { code: code.slice(1) });
const [cookie = ""] = (signedIn.headers["set-cookie"]?.[0] ?? "").split(";");
const get = async (target: string): Promise<HttpAnswer> =>
  ask(`${where}${target}`, { headers: { host, cookie } });

interface Shown {
  readonly form: TestForm;
  readonly text: string;
}

/** The form and its text, as a browser has them. */
function shownIn(body: string): Shown {
  const [form] = formsIn(body);
  assert.ok(form !== undefined, body);
  const [, text = form.fields["text"] ?? ""] = /<textarea[^>]*>\n([^]*?)<\/textarea>/.exec(body) ?? [];
  return { form, text: unescaped(text) };
}

async function openEdit(): Promise<Shown> {
  const { status, body } = await get("/page/settings/edit");
  assert.equal(status, 200, body);
  return shownIn(body);
}

/** As a browser sends it. */
async function send({ form }: Shown, text: string): Promise<HttpAnswer> {
  return post(form.path, { ...form.fields, text: text.replaceAll("\n", "\r\n") }, { cookie });
}

const current = async (): Promise<string> => readFile(file, "utf8");

test("a change is shown as a difference, written once with every other byte, and put in force", async () => {
  const edit = await openEdit();
  assert.equal(edit.text, CONFIG);
  const changed = CONFIG.replace("Mira", "Nora").replace('"info"', '"debug"');
  const review = await send(edit, changed);
  assert.equal(review.status, 200);
  assert.match(
    review.body,
    /− +4 {2}name = &quot;Mira&quot; {2}# her name\n[^]*\+ +4 {2}name = &quot;Nora&quot;/,
  );
  assert.equal(await current(), CONFIG, "nothing is written before it is confirmed");
  const confirm = shownIn(review.body);
  assert.equal(confirm.form.path, "/page/settings/save");
  const forged = await post(confirm.form.path, { ...confirm.form.fields, token: "x" }, { cookie });
  assert.equal(forged.status, 403);
  const [first, second] = await Promise.all([send(confirm, confirm.text), send(confirm, confirm.text)]);
  const written = [first, second].filter(({ status }) => status === 303);
  assert.equal(written.length, 1, "the second press finds it written");
  assert.equal(await current(), changed);
  assert.equal((await stat(file)).mode & 0o777, 0o640);
  const outcome = await get(String(written[0]?.headers.location));
  assert.match(outcome.body, /role="status">\s*Written\. [^<]*agents/);
  assert.match(outcome.body, /In force/);
  const late = [first, second].find(({ status }) => status !== 303);
  assert.match(late?.body ?? "", /This is what the file says: nothing is to be written/);
});

test("what the loader refuses is not written, with the line and the key as `weir config check` has them", async () => {
  const before = await current();
  const edit = await openEdit();
  const broken = `${before}[[agents]]\nid = "main"\nwindow = 5\n`;
  const answer = await send(edit, broken);
  assert.match(answer.body, /Nothing was written/);
  await writeFile(file, broken);
  const { stderr } = await home.run("config", "check");
  await writeFile(file, before);
  const lines = stderr.split("\n").filter((line) => /config\.toml:\d+:\d+/.test(line));
  assert.ok(lines.length > 0, stderr);
  for (const line of lines) assert.ok(unescaped(answer.body).includes(line.trim()), line);
  assert.equal(shownIn(answer.body).text, broken, "the text is there to be mended");
  const noToml = await send(await openEdit(), "[[agents\n");
  assert.match(unescaped(noToml.body), /config\.toml:1/);
  assert.equal(await current(), before);
  const confirm = shownIn((await send(await openEdit(), `${before}# more\n`)).body);
  const made = await post(confirm.form.path, { ...confirm.form.fields, text: broken }, { cookie });
  assert.match(made.body, /Nothing was written/);
  assert.equal(await current(), before, "saving checks again");
});

test("a file that somebody else has changed meanwhile is not written over", async () => {
  const before = await current();
  const edit = await openEdit();
  const confirm = shownIn((await send(edit, `${before}# from the page\n`)).body);
  const theirs = `${before}# from an editor\n`;
  await writeFile(file, theirs);
  for (const one of [edit, confirm]) {
    const answer = await send(one, `${before}# from the page\n`);
    assert.match(answer.body, /Somebody else has changed the file meanwhile\. Nothing was written/);
    assert.match(answer.body, /−[^<]*# from an editor\n[^]*\+[^<]*# from the page/);
  }
  assert.equal(await current(), theirs);
  await writeFile(file, before);
});

test("a secret is neither shown nor written: it belongs into .env", async () => {
  const before = await current();
  const edit = await openEdit();
  const known = await send(edit, `${before}# sk-e2e-secret\n`);
  assert.match(
    known.body,
    /Secrets do not stand in this file: line 8 holds a secret, or may hold one\. Move it to \.env/,
  );
  assert.doesNotMatch(known.body, /sk-e2e-secret/);
  assert.equal(shownIn(known.body).text, before, "no masked text comes back");
  const other = await send(edit, `${before}[llm]\napi_key = "hunter2hunter"\n`);
  assert.match(other.body, /Secrets do not stand in this file: line 9/);
  assert.equal(await current(), before);
  await writeFile(file, `${before}# old key: sk-abcdefgh12345678\n`);
  const refused = await get("/page/settings/edit");
  assert.equal(refused.status, 409);
  assert.match(refused.body, /line 8 holds a secret, or may hold one\. Move it to \.env first/);
  assert.doesNotMatch(refused.body, /sk-abcdefgh|textarea/);
  const save = await post("/page/settings/save", { ...edit.form.fields, text: before }, { cookie });
  assert.equal(save.status, 409);
  await writeFile(file, before);
  const log = await readFile(path.join(home.dataDir, "weir.log"), "utf8");
  const audit = log.split("\n").filter((line) => line.includes("page_act"));
  assert.ok(
    audit.some((line) =>
      /"act":"\/page\/settings\/save","on":"configuration [\da-f]{12}","session":"[\da-f]{8}","outcome":"done"/.test(
        line,
      ),
    ),
    audit.join("\n"),
  );
  assert.doesNotMatch(audit.join("\n"), /hunter2|Nora/);
});
