/** The form of the lines of the log, and what becomes of warnings and errors that repeat. */
import { type LogFn, type Logger, pino } from 'pino'

/** As collectors of logs expect it: the level is a word, and the time is ISO 8601. `request-events.ts` writes the same form. */
export const LINE_FORM = {
  base: null,
  formatters: { level: (level: string) => ({ level }) },
  timestamp: pino.stdTimeFunctions.isoTime,
}

/** Lines of one kind since the last one that was written. */
interface Kind {
  count: number
  write: ((count: number) => void) | undefined
  /** Ends the interval that began with the last written line. */
  timer: NodeJS.Timeout
}

export const INTERVAL_MS = 1000

const WARN_LEVEL = 40

/** With more kinds at once, their lines are written before the end of their second. */
const MAX_KINDS = 1000

/**
 * The first line of a kind is written at once. Further lines within the interval after it are counted, and at the end of
 * the interval the last one is written with `repeated`: the number of lines counted. Lines below `warn` are always
 * written.
 */
export function limitRepeatedLines(intervalMs: number) {
  const kinds = new Map<string, Kind>()

  const startTimer = (key: string): NodeJS.Timeout => setTimeout(endInterval, intervalMs, key).unref()

  /** Writes what was counted. A kind that did not occur in this interval is forgotten. */
  function endInterval(key: string): void {
    const kind = kinds.get(key)
    if (kind?.write === undefined) {
      kinds.delete(key)
      return
    }
    const { count, write } = kind
    kinds.set(key, { count: 0, write: undefined, timer: startTimer(key) })
    write(count)
  }

  function flush(): void {
    const counted = [...kinds.values()]
    kinds.clear()
    for (const { count, write, timer } of counted) {
      clearTimeout(timer)
      write?.(count)
    }
  }

  return {
    /** Called by pino instead of writing a line; `method` writes it. `this` is the logger, which may be that of a request. */
    logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, level: number) {
      if (level < WARN_LEVEL) return method.apply(this, args)
      const key = `${level} ${kindOf(args)}`
      const kind = kinds.get(key)
      if (kind === undefined) {
        if (kinds.size >= MAX_KINDS) flush()
        kinds.set(key, { count: 0, write: undefined, timer: startTimer(key) })
        return method.apply(this, args)
      }
      kind.count += 1
      kind.write = (count) => method.apply(this, count === 1 ? args : withCount(args, count))
    },
    flush,
  }
}

/** Returns message and fields without what differs from one event to the next: the id of the request, numbers, stacks. */
function kindOf([first, ...rest]: readonly unknown[]): string {
  if (typeof first !== 'object' || first === null) return [first, ...rest].join(' ')
  if (first instanceof Error) return [first.message, ...rest].join(' ')
  const fields = Object.entries(first)
    .filter(([name]) => name !== 'reqId')
    .map(([name, value]) => `${name}=${identityOf(value)}`)
  return [...rest, ...fields].join(' ')
}

function identityOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return value.message
  return Array.isArray(value) ? JSON.stringify(value) : ''
}

function withCount([first, ...rest]: Parameters<LogFn>, count: number): Parameters<LogFn> {
  const [fields, message] = typeof first === 'object' ? [first, rest] : [{}, [first, ...rest]]
  const named = fields instanceof Error ? { err: fields } : fields
  return [{ ...named, repeated: count }, ...message] as unknown as Parameters<LogFn>
}
