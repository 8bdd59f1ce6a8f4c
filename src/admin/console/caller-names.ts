/** Names of callers in counts that replicas exchange. */

/** The requests of all callers that were not authenticated. */
export const NOT_SIGNED_IN = 'not signed in'
/** The callers, and the endpoints, above the number that is counted apart. */
export const OTHERS = 'others'

/** Returns a name of at most `maxChars` characters: its end, which tells users of one issuer apart. */
export function shortenName(name: string, maxChars: number): string {
  return name.length <= maxChars ? name : `…${name.slice(1 - maxChars)}`
}
