import { EXCEPT_VARIABLES, type Proxies, PROXY_VARIABLES, proxyAddress } from "../network/proxies.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { type Environment, unusableVariable, variable } from "./environment.ts";

export interface ReadProxies {
  /** Null: none is named. */
  readonly proxies: Proxies | null;
  readonly problems: readonly ConfigProblem[];
}

/** Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, also in lower case. */
export function readProxies(environment: Environment): ReadProxies {
  const problems: ConfigProblem[] = [];
  const addressIn = (names: readonly string[]): string | null => {
    const name = names.find((one) => variable(environment, one) !== null);
    const value = name === undefined ? null : variable(environment, name);
    if (name === undefined || value === null) return null;
    const address = proxyAddress(value);
    if (address === null) {
      const expected = 'the address of an HTTP proxy, such as "http://proxy.example:3128"';
      problems.push(configProblem({ message: unusableVariable(name), expected }));
    }
    return address;
  };
  const https = addressIn(PROXY_VARIABLES.https);
  const http = addressIn(PROXY_VARIABLES.http);
  const except = EXCEPT_VARIABLES.map((name) => variable(environment, name)).find((value) => value !== null);
  const isNone = https === null && http === null;
  return { proxies: isNone ? null : { https, http, except: except ?? "" }, problems };
}
