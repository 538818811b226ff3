/** The two parts of a checked address such as `127.0.0.1:3000` or `[::1]:3000`. Pure. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replaceAll(/[[\]]/g, ""), port: Number(address.slice(colon + 1)) };
}

/** Whether only this machine reaches an address; an IPv6 address may stand in brackets. Pure. */
export function isLoopback(host: string): boolean {
  return /^(?:127\.[\d.]+|\[?::1\]?|localhost)$/i.test(host);
}
