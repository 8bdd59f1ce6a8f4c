/** `log.format: text`: the JSON lines of the log, written for eyes. */
import { Writable } from 'node:stream'

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
