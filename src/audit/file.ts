/**
 * The file of the audit: lines are appended (O_APPEND) and, where so set, on the disk before anybody goes on
 * (`fdatasync`; lines that come at the same time share one). The chain goes on over restarts, reopenings and rotation:
 * it is taken up where the last whole line of the file left it.
 */
import { type FileHandle, rename } from 'node:fs/promises'
import { openPlace, readTail, standsAt } from './place.ts'
import { beginning, type Entry, type Link, writeLine } from './record.ts'

export interface AuditFileOptions {
  readonly file: string
  readonly replica: string
  /** Lines are on the disk when their promise resolves; else the system decides when. */
  readonly sync: boolean
  /** Bytes after which the file is put aside. */
  readonly rotateAt: number
  readonly clock?: () => Date
  /** It could not be put aside, and grows on: its folder is not for the edge to change, or it is a mount of its own. */
  readonly stuck?: (fault: Error) => void
}

export interface AuditSink {
  /** Rejects when nothing can be written. */
  open(): Promise<void>
  /** Rejects when the line could not be written. */
  append(entry: Entry): Promise<void>
  /** Opens the file anew: whoever rotates it has moved it away. */
  reopen(): Promise<void>
  close(): Promise<void>
}

interface Waiting {
  readonly entry: Entry
  readonly resolve: () => void
  readonly reject: (fault: unknown) => void
}

/** Touches nothing before `open`. */
export function auditFile(options: AuditFileOptions): AuditSink {
  return new AuditFile(options)
}

class AuditFile implements AuditSink {
  readonly #options: AuditFileOptions
  readonly #waiting: Waiting[] = []
  #handle: FileHandle | undefined
  #link: Link = beginning
  #size = 0
  #rotateAt: number
  /** One thing at a time happens to the file. */
  #turn: Promise<void> = Promise.resolve()

  constructor(options: AuditFileOptions) {
    this.#options = options
    this.#rotateAt = options.rotateAt
  }

  open(): Promise<void> {
    return this.#next(() => this.#open())
  }

  async #open(carried?: Link, unended = false): Promise<void> {
    const handle = await openPlace(this.#options.file)
    this.#handle = handle
    const { size } = await handle.stat()
    const { link, torn } = await readTail(handle, size)
    this.#size = size
    this.#link = link ?? carried ?? beginning
    try {
      // The end of what is torn goes with the line that says so: a disk that fills up between them would hide it.
      await this.#put([{ kind: 'opened', ...((torn || unended) && { torn: true }) }], torn ? '\n' : '')
    } catch (fault) {
      this.#handle = undefined
      await handle.close()
      throw fault
    }
  }

  append(entry: Entry): Promise<void> {
    const written = new Promise<void>((resolve, reject) => this.#waiting.push({ entry, resolve, reject }))
    if (this.#waiting.length === 1) void this.#next(() => this.#flush())
    return written
  }

  reopen(): Promise<void> {
    return this.#next(() => this.#reopen())
  }

  close(): Promise<void> {
    return this.#next(async () => {
      if (this.#handle === undefined) return
      await this.#end()
      await this.#handle.close()
      this.#handle = undefined
    })
  }

  #next(run: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(run)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0)
    try {
      await this.#ready()
      await this.#put(batch.map(({ entry }) => entry))
      for (const { resolve } of batch) resolve()
    } catch (fault) {
      // What stands there now is not known: the next one looks.
      await this.#handle?.close().catch(() => undefined)
      this.#handle = undefined
      for (const { reject } of batch) reject(fault)
    }
  }

  /** A failed write, or somebody else's, leaves the file in a state that must be looked at. */
  async #ready(): Promise<void> {
    if (this.#handle === undefined) return this.#open(this.#link)
    const { size } = await this.#handle.stat()
    // What was removed takes lines all the same, and nobody would ever read them.
    if (size !== this.#size || !(await standsAt(this.#handle, this.#options.file))) return this.#reopen()
    if (size >= this.#rotateAt) await this.#rotate(size)
  }

  /** Where that cannot be, lines are written on: it is no reason to refuse what they tell of. */
  async #rotate(size: number): Promise<void> {
    try {
      await rename(this.#options.file, this.#aside())
    } catch (fault) {
      this.#rotateAt = size + this.#options.rotateAt
      return this.#options.stuck?.(fault as Error)
    }
    this.#rotateAt = this.#options.rotateAt
    await this.#reopen()
  }

  /** In the order of names, each once: the number of the last line tells apart what came in one millisecond. */
  #aside(): string {
    const time = (this.#options.clock?.() ?? new Date()).toISOString().replaceAll(':', '-')
    return `${this.#options.file}.${time}.${String(this.#link.seq).padStart(12, '0')}`
  }

  async #reopen(): Promise<void> {
    const before = this.#handle
    const mine = before !== undefined && (await before.stat()).size === this.#size
    const ended = !mine || (await this.#end())
    this.#handle = undefined
    await before?.close()
    await this.#open(this.#link, !ended)
  }

  /** `false`: the last line may be torn. */
  #end(): Promise<boolean> {
    return this.#put([{ kind: 'closed' }]).then(
      () => true,
      () => false,
    )
  }

  async #put(entries: readonly Entry[], before = ''): Promise<void> {
    let link = this.#link
    let texts = before
    for (const entry of entries) {
      const at = { time: this.#options.clock?.() ?? new Date(), replica: this.#options.replica }
      const written = writeLine(entry, at, link)
      link = written.link
      texts += `${written.text}\n`
    }
    await this.#write(texts)
    this.#link = link
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    await this.#handle?.appendFile(bytes)
    if (this.#options.sync) await this.#handle?.datasync()
    this.#size += bytes.length
  }
}
