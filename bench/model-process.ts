/** The scripted model server in a process of its own: prints its URL, answers at once, ends with its standard input. */
import { text } from "../test/support/model-behaviours.ts";
import { startModelServer } from "../test/support/model-server.ts";

const server = await startModelServer();
server.respond(() => text("Behind the shed, as far as I remember."));
console.log(server.url);
process.stdin.on("end", () => process.exit(0)).resume();
