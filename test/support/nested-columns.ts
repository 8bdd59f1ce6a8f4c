/** The columns of inventories that nodes return as objects. Oracles share this list with each other, and no code with `src`. */

/** `scan_id` is returned as `scan: {id}`. */
export const ALWAYS_NESTED: readonly string[] = ['scan', 'os', 'ram', 'cpu', 'local', 'remote']
/** Only several columns are returned as an object: `rx_bytes` alone stays flat. */
export const NESTED_IN_PAIRS: readonly string[] = ['rx', 'tx']
