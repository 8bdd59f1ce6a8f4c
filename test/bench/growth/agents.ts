/** The responses of the growth measurements: one agent for each offset, so that each response names its URL. */

/** Bytes of a body: a page of one agent. */
export const BODY_BYTES = 640

/** The URL of an entry is this text and its number. */
export const URL_PREFIX = '/agents?limit=1&offset='

/** Digits of an id in a body. */
const ID_DIGITS = 8

/** Returns the text that the body of an entry, and no other one, contains. */
export function markOf(entry: number): string {
  return `"id":"${String(entry).padStart(ID_DIGITS, '0')}"`
}

/** Returns the body of an entry; all bodies have the same length. */
export function bodyOf(entry: number): string {
  const head = `{"error":0,"data":{"items":[{${markOf(entry)},"name":"`
  const tail = '","status":"Active"}],"totalItems":1000000}}'
  return head + 'n'.repeat(BODY_BYTES - head.length - tail.length) + tail
}
