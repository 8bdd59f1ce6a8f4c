/**
 * What `../data/v4-endpoints.yaml` says about each operation of the v4 contract. It shares no code with the records
 * that the tests compare with it.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** What release 5.0 has that is new or changed since 4.14. */
const FACTS_OF_RELEASE_5 = new URL('../data/v5-operations.yaml', import.meta.url)
const FACTS = new URL('../data/v4-endpoints.yaml', import.meta.url)

/** A value in plain words: the type, its limits and its default. */
export type Described = Readonly<Record<string, unknown>>

export interface DescribedBody {
  readonly type: string
  readonly open?: true
  /** Of JSON: a name with `?` may be missing. */
  readonly members?: Described
}

export interface DescribedOperation {
  readonly endpoint: string
  readonly releases: Described
  readonly runsOn: string | undefined
  readonly rights: readonly string[]
  readonly without: readonly string[]
  /** Names that only earlier releases have. The description does not say which, nor what values they take. */
  readonly earlier: readonly string[]
  readonly path: Readonly<Record<string, Described>>
  readonly query: Readonly<Record<string, Described>>
  readonly body: DescribedBody | undefined
}

interface WrittenOperation {
  readonly endpoint: string
  readonly releases?: string
  readonly 'runs on'?: string
  readonly rights?: readonly string[]
  readonly without?: readonly string[]
  readonly 'query of earlier releases only'?: readonly string[]
  readonly path?: Readonly<Record<string, string>> | null
  readonly query?: Readonly<Record<string, string>> | null
  readonly body?: string
}

export function describedOperations(): readonly DescribedOperation[] {
  const text = readFileSync(FACTS, 'utf8')
  const { operations } = parse(text) as { readonly operations: readonly WrittenOperation[] }
  return operations.map(describe)
}

interface WrittenRelease5 {
  readonly new: readonly WrittenOperation[]
  readonly changed: readonly WrittenOperation[]
}

/** Returns the operations that are new or changed. */
export function operationsOfRelease5(): readonly DescribedOperation[] {
  const written = parse(readFileSync(FACTS_OF_RELEASE_5, 'utf8')) as WrittenRelease5
  return [...written.new, ...written.changed].map(describe)
}

function describe(written: WrittenOperation): DescribedOperation {
  return {
    endpoint: written.endpoint,
    releases: releasesIn(written.releases ?? ''),
    runsOn: written['runs on'],
    rights: written.rights ?? [],
    without: written.without ?? [],
    earlier: written['query of earlier releases only'] ?? [],
    path: valuesOf(written.path),
    query: valuesOf(written.query),
    body: written.body === undefined ? undefined : bodyOf(written.body.replace(' (may be absent)', '')),
  }
}

function valuesOf(written: Readonly<Record<string, string>> | null | undefined): Readonly<Record<string, Described>> {
  return Object.fromEntries(Object.entries(written ?? {}).map(([name, text]) => [name, describedValue(text)]))
}

/** `since 4.5, until 4.7` */
function releasesIn(text: string): Described {
  const [, since] = /since (4\.\d+)/.exec(text) ?? []
  const [, until] = /until (4\.\d+)/.exec(text) ?? []
  return { ...(since !== undefined && { since }), ...(until !== undefined && { until }) }
}

/** `list of one of a | b (minItems 1), required, since 4.5` */
function describedValue(text: string): Described {
  const [, written = '', after = ''] = /^(.*?)((?:, (?:required|since 4\.\d+|until 4\.\d+))*)$/.exec(text) ?? []
  const releases = releasesIn(after)
  return {
    ...typeOf(written),
    ...(Object.keys(releases).length > 0 && { releases }),
    ...(after.includes(', required') && { required: true }),
  }
}

function typeOf(text: string): Described {
  const list = /^list of (.*)$/.exec(text)
  if (list === null) return plainTypeOf(text)
  const { minItems, ...items } = plainTypeOf(list[1] ?? '')
  return { type: 'array', items, ...(minItems !== undefined && { minItems }) }
}

const PLAIN: ReadonlySet<string> = new Set(['string', 'integer', 'boolean', 'object'])

function plainTypeOf(text: string): Described {
  const [, name = '', limits = ''] = /^(.*?)(?: \(([^()]*)\))?$/.exec(text) ?? []
  const all = Object.assign({}, ...limits.split(', ').map((limit) => limitOf(name, limit))) as Described
  if (name.startsWith('one of ')) return { type: 'string', words: name.slice(7).split(' | '), ...all }
  if (name === 'float') return { type: 'number', ...all }
  return PLAIN.has(name) ? { type: name, ...all } : { type: 'string', format: name, ...all }
}

/** `default 500`, `minItems 1`, `length 4..64`, `1..100000` */
function limitOf(type: string, text: string): Described {
  const [word = '', value = ''] = text.split(' ')
  if (word === 'default')
    return { default: type === 'integer' ? Number(value) : type === 'boolean' ? value === 'true' : value }
  if (word === 'minItems') return { minItems: Number(value) }
  const [, from, to] = /^(\d*)\.\.(\d*)$/.exec(word === 'length' ? value : word) ?? []
  const [least, greatest] = word === 'length' ? ['minLength', 'maxLength'] : ['minimum', 'maximum']
  return { ...(from && { [least as string]: Number(from) }), ...(to && { [greatest as string]: Number(to) }) }
}

/** `application/json: {name: names, ip?: string}`, or a media type alone with `any` or `binary`. */
function bodyOf(text: string): DescribedBody {
  const [type = '', written = ''] = text.split(/: (.*)/)
  if (type !== 'application/json') return { type }
  return written === 'object'
    ? { type, open: true, members: {} }
    : { type, members: new MemberReader(written).members() }
}

/** Reads `{name: value, name?: {…}}`. A value ends at a comma or brace outside of parentheses. */
class MemberReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  members(): Record<string, Described> {
    const found: Record<string, Described> = {}
    this.#take('{')
    do {
      const name = this.#until(':')
      this.#take(': ')
      found[name] = this.#text[this.#at] === '{' ? { type: 'object', members: this.members() } : this.#value()
    } while (this.#takes(', '))
    this.#take('}')
    return found
  }

  #value(): Described {
    const [text = ''] = /^(?:[^,{}()]|\([^()]*\))*/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += text.length
    return typeOf(text)
  }

  #until(end: string): string {
    const to = this.#text.indexOf(end, this.#at)
    const text = this.#text.slice(this.#at, to)
    this.#at = to
    return text
  }

  #takes(text: string): boolean {
    const isNext = this.#text.startsWith(text, this.#at)
    if (isNext) this.#at += text.length
    return isNext
  }

  #take(text: string): void {
    if (!this.#takes(text)) throw new Error(`${text} expected at ${this.#at} of ${this.#text}`)
  }
}
