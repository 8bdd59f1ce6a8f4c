import { CollectionError } from './error.ts'

const SECONDS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const
type Unit = keyof typeof SECONDS

/** Seconds of a time frame: `90`, `1d`, or several parts in a row (`1d2h`). Throws 1411. */
export function timeFrame(text: string): number {
  if (/^[0-9]+$/.test(text)) return Number(text)
  if (!/^(?:[0-9]+[dhms])+$/.test(text)) throw new CollectionError(1411)
  const parts = text.match(/[0-9]+[dhms]/g) ?? []
  return parts.reduce((sum, part) => sum + Number(part.slice(0, -1)) * SECONDS[part.slice(-1) as Unit], 0)
}

/** The moment that lies `seconds` before `now`, written as the manager writes dates, to be compared as text. */
export function before(now: Date, seconds: number): string {
  const moment = new Date(Math.max(now.getTime() - seconds * 1000, 0))
  return moment.toISOString().slice(0, 19).replace('T', ' ')
}
