import { Writable } from 'node:stream'
import { type DestinationStream, pino } from 'pino'

/** `log.format: json`: lines to standard output, several with one write, which costs more than the answer to a hit. */

/** Characters of lines that go out together, and milliseconds that they wait for it at most. */
const TOGETHER = 8192
const LONGEST = 100

export interface JsonLog {
  readonly stream: DestinationStream
  /** What waits goes out at once: the process ends. */
  flush(): void
}

export function jsonLog(): JsonLog {
  // Written by this thread: handing so little to another one takes longer than to write it.
  const out = pino.destination({ dest: 1, sync: true })
  // Gathered here: the destination would measure all that waits again with each line.
  let waiting = ''
  const flush = (): void => {
    const lines = waiting
    waiting = ''
    if (lines !== '') out.write(lines)
  }
  const write = (line: string): void => {
    waiting += line
    if (waiting.length >= TOGETHER) flush()
  }
  setInterval(flush, LONGEST).unref()
  return {
    stream: { write },
    flush: () => {
      flush()
      out.flushSync()
    },
  }
}

/** `log.format: text`: the JSON lines of the log, written for eyes. */

const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

/** A destination for the log: `12:34:56.789 INFO  request method=GET status=200`, one line each. */
export function textLog(out: Writable): Writable {
  return new Writable({
    decodeStrings: false,
    write(line, _encoding, done) {
      out.write(textLine(String(line)))
      done()
    },
  })
}

/** Values stay JSON where they hold anything but plain words: a line break in one never makes a second line. */
export function textLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const at = new Date(Number(time)).toISOString().slice(11, 23)
  const rest = Object.entries(fields).map(([name, value]) => ` ${plain(name)}=${plain(value)}`)
  return `${at} ${(LEVELS[Number(level)] ?? '').padEnd(5)} ${quoted(String(msg ?? ''))}${rest.join('')}\n`
}

function plain(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)
}

function quoted(text: string): string {
  return /[\x00-\x1f\x7f-\x9f]/.test(text) ? JSON.stringify(text) : text
}
