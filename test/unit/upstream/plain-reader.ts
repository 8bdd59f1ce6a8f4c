/** A plain reader of one HTTP response, by RFC 9110, 9111 and 9112, without limits of time. */

interface PlainResponse {
  readonly body: Buffer
  /** Seconds; 0: none. */
  readonly age: number
}

/** A flood of interim responses: a reader that takes more has no bound (RFC 9110 section 15.2 leaves it to the client). */
const MAX_INTERIM_BYTES = 16 * 1024
const MAX_AGE = 2 ** 31

/** Returns `undefined` if the bytes are no complete JSON response in a coding that the client has asked for. */
export function readPlainly(bytes: Buffer, ends: boolean): PlainResponse | undefined {
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    const head = bytes.toString('latin1', at, end)
    const [line = '', ...lines] = head.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: .*)?$/.exec(line)?.[1])
    if (end < 0 || Number.isNaN(status) || !lines.every((each) => /^[\w-]+:[^\r\n]*$/.test(each))) return undefined
    at = end + 4
    if (status === 101 || (status < 200 && at > MAX_INTERIM_BYTES)) return undefined
    if (status >= 200) return readFinal(new Headers(lines.map((each) => pairOf(each))), bytes.subarray(at), ends)
  }
}

function pairOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trim()]
}

function readFinal(headers: Headers, rest: Buffer, ends: boolean): PlainResponse | undefined {
  const codings = (headers.get('content-encoding') ?? '').split(',').map((coding) => coding.trim().toLowerCase())
  if (codings.some((coding) => coding !== '' && coding !== 'identity')) return undefined
  const body = bodyOf(headers, rest, ends)
  return body && { body, age: ageOf(headers.get('age')) }
}

/** RFC 9112 section 6.3. */
function bodyOf(headers: Headers, rest: Buffer, ends: boolean): Buffer | undefined {
  const transfer = headers.get('transfer-encoding')?.toLowerCase()
  const length = headers.get('content-length')
  if (transfer !== undefined) return transfer === 'chunked' && length === null ? unchunk(rest) : undefined
  if (length !== null) return rest.length < Number(length) ? undefined : rest.subarray(0, Number(length))
  return ends && isJson(rest) ? rest : undefined
}

function unchunk(rest: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const end = rest.indexOf('\r\n', at)
    const size = Number.parseInt(rest.toString('latin1', at, end), 16)
    if (end < 0 || Number.isNaN(size) || end + 4 + size > rest.length) return undefined
    if (size === 0) return Buffer.concat(parts)
    parts.push(rest.subarray(end + 2, end + 2 + size))
    at = end + 4 + size
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

/** RFC 9111 section 5.1: the first member of a list; an invalid one is ignored. */
function ageOf(value: string | null): number {
  const [first = ''] = (value ?? '').split(',')
  return /^\d+$/.test(first.trim()) ? Math.min(Number(first), MAX_AGE) : 0
}
