/**
 * The file of the audit: lines are appended (O_APPEND) and, where so set, on the disk before anybody goes on
 * (`fdatasync`; lines that come at the same time share one). The chain goes on over restarts, reopenings and rotation:
 * it is taken up where the last whole line of the file left it.
 */
import { type FileHandle, open, rename } from 'node:fs/promises'
import { beginning, type Entry, type Link, readLine, writeLine } from './line.ts'

export interface AuditFileOptions {
  readonly file: string
  readonly replica: string
  /** Lines are on the disk when their promise resolves; else the system decides when. */
  readonly sync: boolean
  /** Bytes after which the file is put aside. */
  readonly rotateAt: number
  readonly clock?: () => Date
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

/** A line is shorter than that. */
const TAIL = 256 * 1024
/** Only those who run the edge read it. */
const MODE = 0o640

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
  /** One thing at a time happens to the file. */
  #turn: Promise<void> = Promise.resolve()

  constructor(options: AuditFileOptions) {
    this.#options = options
  }

  open(): Promise<void> {
    return this.#next(() => this.#open())
  }

  async #open(carried?: Link): Promise<void> {
    const handle = await open(this.#options.file, 'a+', MODE)
    this.#handle = handle
    const { size } = await handle.stat()
    const tail = await readTail(handle, size)
    this.#size = size
    this.#link = tail.link ?? carried ?? beginning
    try {
      if (tail.torn) await this.#write('\n')
      await this.#put([{ kind: 'opened', ...(tail.torn && { torn: true }) }])
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
      await this.#put([{ kind: 'closed' }]).catch(() => undefined)
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
    const { file, rotateAt } = this.#options
    if (this.#handle === undefined) return this.#open(this.#link)
    const { size } = await this.#handle.stat()
    if (size !== this.#size) return this.#reopen()
    if (size < rotateAt) return
    await this.#put([{ kind: 'closed' }])
    await this.#handle.close()
    this.#handle = undefined
    await rename(file, `${file}.${(this.#options.clock?.() ?? new Date()).toISOString().replaceAll(':', '-')}`)
    await this.#open(this.#link)
  }

  async #reopen(): Promise<void> {
    const before = this.#handle
    if (before !== undefined && (await before.stat()).size === this.#size) await this.#put([{ kind: 'closed' }])
    this.#handle = undefined
    await before?.close()
    await this.#open(this.#link)
  }

  async #put(entries: readonly Entry[]): Promise<void> {
    let link = this.#link
    let texts = ''
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

/** The last whole line of what is there; `torn`: something that is none comes after it. */
async function readTail(handle: FileHandle, size: number): Promise<{ link?: Link; torn: boolean }> {
  const length = Math.min(size, TAIL)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length)
  const text = buffer.toString('utf8', 0, bytesRead)
  const torn = text !== '' && !text.endsWith('\n')
  for (const line of text.split('\n').reverse()) {
    const read = readLine(line)
    if (read !== undefined) return { link: { seq: read.seq, digest: read.digest }, torn }
  }
  return { torn }
}
