/** The log of the process. Warnings and errors that repeat become one line per second and kind, with their number. */
import { type DestinationStream, type Logger, pino } from 'pino'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { CacheEvent } from '../core/events.ts'
import { INTERVAL_MS, LINE_FORM, limitRepeatedLines } from './log-lines.ts'

/** `flushSync` writes the lines that are buffered. */
export type LogDestination = DestinationStream & { flushSync?(): void }

export type LogOutput = ReturnType<typeof createLog>

export function createLog(settings: ReloadableConfig, logTo: LogDestination = pino.destination(1)) {
  const repeated = limitRepeatedLines(INTERVAL_MS)
  const { logMethod } = repeated
  let writeEarlierLines: () => void = () => undefined
  const write = (line: string): void => {
    writeEarlierLines()
    logTo.write(line)
  }
  const log = pino({ ...LINE_FORM, level: settings.initial.log.level, hooks: { logMethod } }, { write })
  settings.onReload((next) => () => {
    log.level = next.log.level
  })
  return {
    log,
    logTo,
    /** Calls the function in front of each line that is written by `log`, so that it can write earlier ones. */
    setEarlierLines: (writeEarlier: () => void): void => {
      writeEarlierLines = writeEarlier
    },
    flush: () => logTo.flushSync?.(),
    /** Writes the repeated lines that wait for the end of their second. */
    flushRepeated: repeated.flush,
  }
}

/** Returns the function through which the other rooms write to the log. */
export function toLog(log: Logger): (level: 'info' | 'warn' | 'error', message: string, fields?: object) => void {
  return (level, message, fields) => log[level](fields ?? {}, message)
}

/** Logs that the read-only trial (`cache.trial`) is on, and returns the listener that logs each response that would have differed. */
export function createTrialLog(log: Logger): (event: CacheEvent) => void {
  log.warn('read-only trial: the manager answers every read, and writes are rejected')
  return (event) => {
    if (event.kind !== 'trial' || event.difference === undefined) return
    const { requestId: reqId, route, group, cache, difference } = event
    log.info({ reqId, route, group, cache, difference }, 'trial: responses differ')
  }
}
