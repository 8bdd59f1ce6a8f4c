/** Where the browser goes after a sign-in. */

export const CONSOLE_PATH = '/console/'

/** Pages that people open: the console with its view behind `#`, the API reference, the metrics. */
const PAGE = /^\/(?:console\/|docs\/?|metrics|openapi\.json)(?:#[\w/.~!$&'()*+,;=:@%?-]{0,1000})?$/

/** Returns the path if it is a page of this listener, else the console. So no link can lead to another site. */
export function returnPath(text: unknown): string {
  return typeof text === 'string' && PAGE.test(text) ? text : CONSOLE_PATH
}
