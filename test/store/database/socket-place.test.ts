import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { makeSocketFolder, socketFolderOf } from "../../../src/store/database/socket-place.ts";

test("a temporary folder that is not there is not needed for the socket of a long path", () => {
  const dataDir = `/srv/${"x".repeat(120)}`;
  const place = { dataDir, folder: "socket", prefix: "weir", socketName: ".s.PGSQL.5432" };
  const usual = process.env["TMPDIR"];
  try {
    process.env["TMPDIR"] = tmpdir();
    const name = path.basename(socketFolderOf(place));
    process.env["TMPDIR"] = "/nowhere/at/all";
    assert.equal(socketFolderOf(place), path.join("/tmp", name));
  } finally {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
  }
});

test("a socket's folder that cannot be made is the operator's to change", async () => {
  await assert.rejects(
    makeSocketFolder("/nowhere/at/all/weir-1", [], "database socket"),
    (error: unknown) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, /database socket cannot be made \(ENOENT.*TMPDIR.*data_dir/);
      return true;
    },
  );
});
