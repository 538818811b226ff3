import { platformContract } from "../contract.ts";
import { openSlackHarness } from "./slack-harness.ts";

platformContract("slack", openSlackHarness);
