/** What Redis itself says of an answer: the entry, and the epochs and fences of its tags at this moment. */
import { randomUUID } from 'node:crypto'
import type { Tag } from '../../../catalogue/endpoint.ts'
import type { Lookup, TagEpochs } from '../../../core/stored-response.ts'
import type { Link } from '../../../redis/link.ts'
import { answerOf, type Held } from '../held.ts'
import { compareMarks, keyTag, ReadMark, withOwn } from '../marks.ts'
import type { Entries } from './entries.ts'
import type { Knowledge } from './knowledge.ts'
import { names, type Times } from './options.ts'
import type { Pulse } from './pulse.ts'
import { look } from './scripts.ts'

export interface FarOptions {
  /** The connection of steps. */
  readonly link: Link
  readonly pulse: Pulse
  readonly knowledge: Knowledge
  readonly entries: Entries
  readonly times: Times
  readonly elapsed: () => number
}

export class Far {
  readonly #options: FarOptions

  constructor(options: FarOptions) {
    this.#options = options
  }

  /** `held`: there where it is present. */
  async look(key: string, tags: readonly Tag[]): Promise<{ readonly look: Lookup; readonly held?: Held }> {
    const { pulse, entries, elapsed } = this.#options
    if (!pulse.trusted) return { look: { kind: 'unavailable' } }
    const [mark, held] = await Promise.all([this.mark(key, tags), entries.get(key)])
    // Asked again: a heartbeat may have found meanwhile that all fences are lost, and the look came after that.
    if (mark === undefined || !pulse.trusted) return { look: { kind: 'unavailable' } }
    if (held === undefined) return { look: { kind: 'miss', epochs: mark, changed: false } }
    const difference = compareMarks(held, mark)
    if (difference === 'changed') return { look: { kind: 'miss', epochs: mark, changed: true } }
    const answer = answerOf(held, elapsed(), difference === 'softened')
    return { look: { kind: 'hit', epochs: mark, response: answer, isLocal: false }, held }
  }

  /** One round trip; undefined: Redis is away. */
  async mark(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const asked = this.#options.elapsed()
    const mark = await this.marks([...tags, keyTag(key)])
    return mark === undefined ? undefined : new ReadMark(withOwn(mark), asked)
  }

  /** The same of tags alone, and told to what this replica knows of them. */
  async marks(tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const { link, pulse, knowledge, times } = this.#options
    const watch = knowledge.watch(tags)
    const args = [randomUUID(), ...tags]
    const reply = await link.run<(string | number)[]>(look, [names.coherence], args, times.command)
    pulse.heard(reply)
    if (!reply.ok || !pulse.saw(String(reply.value[0]))) {
      knowledge.learn(watch)
      return undefined
    }
    const [generation, , fenced, ...epochs] = reply.value
    const mark = { generation: String(generation), epochs: epochs.map(String), fenced: fenced === 1 }
    knowledge.learn(watch, mark)
    return mark
  }
}
