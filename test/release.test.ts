/** What a release is made of says the same version everywhere. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { z } from "zod";

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, "..", file), "utf8");
const named = z.looseObject({ name: z.string(), version: z.string() });
const manifest = named
  .extend({ private: z.literal(true), files: z.array(z.string()) })
  .parse(JSON.parse(read("package.json")));

test("the lockfile and the changelog have the version of the package, and the newest section but for Unreleased is it", () => {
  const lock = named
    .extend({ packages: z.looseObject({ "": named }) })
    .parse(JSON.parse(read("package-lock.json")));
  for (const { name, version } of [lock, lock.packages[""]])
    assert.deepEqual([name, version], [manifest.name, manifest.version]);
  const [newest] = /^## (?!Unreleased$)(.+)$/m.exec(read("CHANGELOG.md"))?.slice(1) ?? [];
  assert.equal(newest, manifest.version);
  assert.ok(read("docs/install.md").includes(`weir-bot-weir-${manifest.version}.tgz`));
});

test("a release tests what it packs, lists what that installs, and says what made it, with no more rights than that takes", () => {
  const step = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
  const job = z.looseObject({ permissions: z.record(z.string(), z.string()), steps: z.array(step) });
  const workflow = z
    .looseObject({
      on: z.strictObject({ push: z.strictObject({ tags: z.array(z.string()) }) }),
      permissions: z.strictObject({}),
      jobs: z.strictObject({ package: job, release: job.extend({ needs: z.literal("package") }) }),
    })
    .parse(parse(read(".github/workflows/release.yml")));
  assert.deepEqual(workflow.on.push.tags, ["v*"]);
  const { package: packing, release } = workflow.jobs;
  assert.deepEqual(packing.permissions, { contents: "read" });
  assert.deepEqual(release.permissions, { contents: "write", "id-token": "write", attestations: "write" });
  // No code of a package runs with these rights.
  for (const { uses = "", run = "" } of release.steps)
    assert.match(
      `${uses}${run}`,
      /^(?:actions\/(?:download-artifact|attest-[a-z-]+)@v\d+|gh release create .*)$/,
    );
  const steps = [...packing.steps, ...release.steps];
  const order = [
    "CHANGELOG.md",
    ".ci/run",
    "npm pack",
    "npm sbom",
    "attest-build-provenance",
    "attest-sbom",
    "gh release create",
  ];
  const done = steps.map(({ uses = "", run = "" }) => `${uses}${run}`).join("\n");
  const places = order.map((word) => done.indexOf(word));
  assert.ok(
    places.every((place) => place >= 0),
    order.filter((_, at) => places[at] === -1).join(", "),
  );
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.match(done, /npm sbom --package-lock-only /, "the packages of each platform");
  assert.match(String(workflow["concurrency"]), /github\.ref/, "no tag waits, or is cancelled, for another");
  // Nothing goes to a registry.
  assert.doesNotMatch(done, /npm publish/);
});
