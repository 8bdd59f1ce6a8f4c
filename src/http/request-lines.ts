/**
 * The line of a hit, as the logger writes it at level `info`, but made of pieces: the logger would look at each field
 * anew, and that takes longer than the look into the cache. `requestLine` says what stands in a line.
 */
import type { LoggedHit } from './observe.ts'
import { Recent } from './recent.ts'
import { tenths } from './request-log.ts'

/** Names that are remembered as JSON. */
const NAMES = 5000

/** Takes one whole line of the log. */
export type WriteLine = (text: string) => void

export function requestLines(write: WriteLine): (hit: LoggedHit) => void {
  const known = new Recent<string>(NAMES)
  const quoted = (text: string): string => {
    const found = known.find(text)
    if (found !== undefined) return found
    const made = JSON.stringify(text)
    known.learn(text, made)
    return made
  }
  return ({ reqId, method, route, status, elapsed, caller, client }) => {
    const what = `"reqId":"${reqId}","method":"${method}","route":${quoted(route)},"status":${status}`
    const who = `"milliseconds":${tenths(elapsed)},"caller":${quoted(caller)},"client":${quoted(client)}`
    write(`{"level":30,"time":${Date.now()},${what},${who},"msg":"request"}\n`)
  }
}
