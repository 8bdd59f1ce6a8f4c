/**
 * The line of a hit, as the logger writes it at level `info`, but made of few pieces: the logger would look at each
 * field anew, and that takes longer than the look into the cache. `requestLine` says what stands in a line.
 */

import { RecentlyUsed } from '../core/recent.ts'
import type { LoggedHit } from './observe.ts'
import { tenths } from './request-log.ts'

/** Routes and callers whose pieces are remembered. */
const NAMES = 5000

/** Takes one whole line of the log. */
export type WriteLine = (text: string) => void

type What = Pick<LoggedHit, 'method' | 'route' | 'status'>
type Who = Pick<LoggedHit, 'caller' | 'client'>
type Remembered<Facts> = Facts & { readonly text: string }

export function requestLines(write: WriteLine): (hit: LoggedHit) => void {
  const whats = new RecentlyUsed<Remembered<What>>(NAMES)
  const whos = new RecentlyUsed<Remembered<Who>>(NAMES)
  const textOfWhat = ({ method, route, status }: What): string => {
    const last = whats.find(route)
    if (last?.status === status && last.method === method) return last.text
    const text = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"milliseconds":`
    whats.learn(route, { method, route, status, text })
    return text
  }
  const textOfWho = ({ caller, client }: Who): string => {
    const last = whos.find(caller)
    if (last?.client === client) return last.text
    const text = `,"caller":${JSON.stringify(caller)},"client":${JSON.stringify(client)},"msg":"request"}\n`
    whos.learn(caller, { caller, client, text })
    return text
  }
  let start = { at: 0, text: '' }
  return (hit) => {
    const now = Date.now()
    if (start.at !== now) start = { at: now, text: `{"level":30,"time":${now},"reqId":"` }
    write(start.text + hit.reqId + textOfWhat(hit) + tenths(hit.elapsed) + textOfWho(hit))
  }
}
