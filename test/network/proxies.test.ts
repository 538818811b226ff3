import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readProxies } from "../../src/config/environment.ts";
import { loadConfig } from "../../src/config/load.ts";
import { KnownSecrets } from "../../src/admin/secrets.ts";
import { proxyFor, shownProxy } from "../../src/network/proxies.ts";
import { errorOf, folderWith } from "../config/folder.ts";

const PROXY = "http://proxy.test:3128/";

function isDirect(address: string, except = ""): boolean {
  return proxyFor({ https: PROXY, http: PROXY, except }, new URL(address)) === null;
}

describe("this machine is never asked through a proxy", () => {
  for (const address of [
    "http://127.0.0.1:11434/api/tags",
    "http://127.8.9.1/",
    "http://localhost:8000/v1",
    "https://LOCALHOST./v1",
    "http://weir.localhost/",
    "http://[::1]:8000/v1",
    "http://[::ffff:127.0.0.1]/",
    "http://0.0.0.0:8000/",
    "http://2130706433/",
    "ws://127.0.0.1:1/",
  ])
    test(address, () => assert.equal(isDirect(address), true));
  for (const address of [
    "https://localhost.test/",
    "https://128.0.0.1/",
    "https://notlocalhost/",
    "wss://a.test/",
  ])
    test(`but ${address} is`, () => assert.equal(isDirect(address), false));
});

describe("NO_PROXY", () => {
  const rows: readonly (readonly [except: string, address: string, isDirect: boolean])[] = [
    ["*", "https://a.test/", true],
    ["x.test, *", "https://a.test/", true],
    ["", "https://a.test/", false],
    [" , ,", "https://a.test/", false],
    ["a.test", "https://a.test/", true],
    ["A.Test", "https://a.test/", true],
    ["a.test", "https://b.a.test/", true],
    ["a.test", "https://ba.test/", false],
    ["a.test.", "https://a.test./", true],
    [".a.test", "https://b.a.test/", true],
    [".a.test", "https://a.test/", true],
    ["*.a.test", "https://b.a.test/", true],
    ["*.a.test", "https://a.test/", false],
    ["x.test,a.test", "https://a.test/", true],
    ["x.test a.test", "https://a.test/", true],
    ["a.test:443", "https://a.test/", true],
    ["a.test:443", "wss://a.test/", true],
    ["a.test:80", "http://a.test/", true],
    ["a.test:8443", "https://a.test/", false],
    ["a.test:8443", "https://b.a.test:8443/", true],
    ["*:8443", "https://a.test:8443/", true],
    ["*:8443", "https://a.test/", false],
    ["10.0.0.7", "http://10.0.0.7:8000/", true],
    ["10.0.0.7:8000", "http://10.0.0.7:8000/", true],
    ["10.0.0.7:9000", "http://10.0.0.7:8000/", false],
    ["10.0.0.0/8", "http://10.200.3.4/", true],
    ["10.0.0.0/8", "http://11.0.0.1/", false],
    ["10.0.0.0/99", "http://10.0.0.1/", false],
    ["0.7", "http://10.0.0.7/", false],
    ["fd00::1", "http://[fd00::1]:8000/", true],
    ["[fd00::1]:8000", "http://[fd00::1]:8000/", true],
    ["[fd00::1]:1", "http://[fd00::1]:8000/", false],
    ["fd00::/8", "http://[fd12::1]/", true],
    ["fd00::/8", "http://[fe80::1]/", false],
    ["test:%&/(", "https://a.test/", false],
  ];
  for (const [except, address, expected] of rows)
    test(`${JSON.stringify(except)} and ${address}`, () => assert.equal(isDirect(address, except), expected));
});

test("each scheme has its own proxy, and a socket that of its scheme", () => {
  const proxies = { https: "http://s.test/", http: null, except: "" };
  assert.equal(proxyFor(proxies, new URL("https://a.test")), "http://s.test/");
  assert.equal(proxyFor(proxies, new URL("wss://a.test")), "http://s.test/");
  assert.equal(proxyFor(proxies, new URL("http://a.test")), null);
});

test("the variables are read in small letters first, empty ones are none, and a bare host and port will do", () => {
  const read = (environment: Record<string, string>) => readProxies(environment).proxies;
  assert.equal(read({}), null);
  assert.equal(read({ NO_PROXY: "*" }), null);
  assert.equal(read({ HTTPS_PROXY: " ", http_proxy: "" }), null);
  assert.deepEqual(
    read({ https_proxy: "http://low:1", HTTPS_PROXY: "http://up:2", no_proxy: "a", NO_PROXY: "b" }),
    {
      https: "http://low:1/",
      http: null,
      except: "a",
    },
  );
  assert.deepEqual(read({ HTTP_PROXY: "proxy.test:3128" }), { https: null, http: PROXY, except: "" });
});

describe("an address that is none is told with its variable, and without its value", () => {
  for (const [name, value] of [
    ["HTTPS_PROXY", "http://"],
    ["https_proxy", "http://user:s3cret-pass@host:port"],
    ["HTTP_PROXY", "socks5://user:s3cret-pass@proxy.test:1080"],
    ["http_proxy", "ftp://s3cret-pass"],
    ["HTTPS_PROXY", "http://user:s3cret-pass%E0%A4@proxy.test"],
    ["HTTPS_PROXY", "http://proxy.test/s3cret-pass"],
  ] as const)
    test(`${name}=${value}`, (t) => {
      const cwd = folderWith(t, {});
      const { message } = errorOf(() => loadConfig({ cwd, env: { [name]: value } }));
      assert.match(message, new RegExp(`the environment variable ${name} cannot be used`));
      assert.match(message, /http:\/\/proxy\.example:3128/);
      assert.doesNotMatch(message, /s3cret|    at /);
    });
});

test("name and password are shown by nobody, and masked where a library shows them", (t) => {
  const cwd = folderWith(t, { ".env": "HTTPS_PROXY=http://user:s3cret%2Dpass@proxy.test:3128\n" });
  const config = loadConfig({ cwd, env: {} });
  assert.equal(shownProxy(config.proxies?.https ?? ""), "http://proxy.test:3128");
  const { masked } = KnownSecrets.of(config);
  assert.doesNotMatch(masked(`${config.proxies?.https} s3cret-pass`), /s3cret/);
});
