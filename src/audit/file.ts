/**
 * The audit file. Records are appended (O_APPEND) and, if `sync` is set, flushed to the disk with `fdatasync` before
 * `append` resolves; records that arrive together share one flush. The chain continues over restarts, reopening and
 * rotation, from the last complete record of the file. The file is locked: two processes that append to one file would break
 * its chain.
 */
import { type FileHandle, rename } from 'node:fs/promises'
import { type FileLock, lockAuditFile } from './lock.ts'
import { isOpenAt, openAuditFile, readChainEnd } from './open-file.ts'
import { type AuditEvent, CHAIN_START, type ChainLink, formatRecord } from './record.ts'
import type { AuditSink } from './sink.ts'

export interface AuditFileOptions {
  readonly file: string
  readonly replica: string
  readonly writing: () => {
    /** Whether records are on the disk when `append` resolves; else the operating system flushes them later. */
    readonly sync: boolean
    /** Bytes from which the file is rotated. */
    readonly rotateAt: number
  }
  readonly clock?: () => Date
  /** Called if the file cannot be renamed, for example if it is a mount point. The file then grows further. */
  readonly onRotationFailure?: (fault: Error) => void
  /** Called if the file cannot be locked against other processes, or the lock was lost. */
  readonly onUnlocked?: (reason: string) => void
}

interface PendingEvent {
  readonly event: AuditEvent
  readonly resolve: () => void
  readonly reject: (fault: unknown) => void
}

/** The file is not touched before `open`. */
export class AuditFile implements AuditSink {
  readonly #options: AuditFileOptions
  readonly #pending: PendingEvent[] = []
  #handle: FileHandle | undefined
  #lock: FileLock | undefined
  #isLockLost = false
  #link: ChainLink = CHAIN_START
  /** Bytes of the file after the last write of this process. */
  #size = 0
  /** Bytes from which a rotation is tried again after one that failed. */
  #retryAt = 0
  /** Operations on the file run one after the other. */
  #lastOperation: Promise<void> = Promise.resolve()

  constructor(options: AuditFileOptions) {
    this.#options = options
  }

  open(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#lockFile()
      await this.#open().catch(async (fault) => {
        await this.#lock?.release()
        throw fault
      })
    })
  }

  append(event: AuditEvent): Promise<void> {
    const written = new Promise<void>((resolve, reject) => this.#pending.push({ event, resolve, reject }))
    if (this.#pending.length === 1) void this.#enqueue(() => this.#flush())
    return written
  }

  reopen(): Promise<void> {
    return this.#enqueue(() => this.#reopen())
  }

  close(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#handle !== undefined) await this.#writeClosed()
      await this.#handle?.close()
      this.#handle = undefined
      await this.#lock?.release()
    })
  }

  #enqueue(operation: () => Promise<void>): Promise<void> {
    const result = this.#lastOperation.then(operation)
    this.#lastOperation = result.catch(() => undefined)
    return result
  }

  async #lockFile(): Promise<void> {
    const { file, onUnlocked } = this.#options
    this.#lock = await lockAuditFile(file, () => {
      this.#isLockLost = true
      onUnlocked?.('the lock was removed, or could not be renewed in time')
    })
    this.#isLockLost = false
    if (this.#lock === undefined) onUnlocked?.('the folder of the file is not writable, or the file is a device')
  }

  /** `carried`: the end of the chain if the file has no record. `maybeTorn`: the previous file may end incompletely. */
  async #open(carried?: ChainLink, maybeTorn = false): Promise<void> {
    const handle = await openAuditFile(this.#options.file)
    this.#handle = handle
    const { size } = await handle.stat()
    const { link, torn } = await readChainEnd(handle, size)
    this.#size = size
    this.#link = link ?? carried ?? CHAIN_START
    try {
      // One write ends the torn line and reports it: if the disk filled up in between, the line would look changed.
      await this.#write([{ kind: 'opened', ...((torn || maybeTorn) && { torn: true }) }], torn ? '\n' : '')
    } catch (fault) {
      this.#handle = undefined
      await handle.close()
      throw fault
    }
  }

  async #flush(): Promise<void> {
    const batch = this.#pending.splice(0)
    try {
      await this.#prepare()
      await this.#write(batch.map(({ event }) => event))
      for (const { resolve } of batch) resolve()
    } catch (fault) {
      // The write may be incomplete. The next flush opens the file again and reads its end.
      await this.#handle?.close().catch(() => undefined)
      this.#handle = undefined
      for (const { reject } of batch) reject(fault)
    }
  }

  /** Opens the file again after a failed write, after another process wrote to it, and after it was moved or removed. */
  async #prepare(): Promise<void> {
    if (this.#isLockLost) await this.#lockFile()
    if (this.#handle === undefined) return this.#open(this.#link)
    const { size } = await this.#handle.stat()
    if (size !== this.#size || !(await isOpenAt(this.#handle, this.#options.file))) return this.#reopen()
    if (size >= Math.max(this.#retryAt, this.#options.writing().rotateAt)) await this.#rotate(size)
  }

  /** If the file cannot be renamed, records are still written: rotation is no reason to refuse writes. */
  async #rotate(size: number): Promise<void> {
    try {
      await rename(this.#options.file, this.#rotatedName())
    } catch (fault) {
      this.#retryAt = size + this.#options.writing().rotateAt
      return this.#options.onRotationFailure?.(fault as Error)
    }
    this.#retryAt = 0
    await this.#reopen()
  }

  /** Names sort by time. The sequence number distinguishes files that are rotated within one millisecond. */
  #rotatedName(): string {
    const time = (this.#options.clock?.() ?? new Date()).toISOString().replaceAll(':', '-')
    return `${this.#options.file}.${time}.${String(this.#link.seq).padStart(12, '0')}`
  }

  async #reopen(): Promise<void> {
    const previous = this.#handle
    const isUnchanged = previous !== undefined && (await previous.stat()).size === this.#size
    const isClosed = !isUnchanged || (await this.#writeClosed())
    this.#handle = undefined
    await previous?.close()
    await this.#open(this.#link, !isClosed)
  }

  /** Returns `false` if the write failed, so the file may end with an incomplete record. */
  #writeClosed(): Promise<boolean> {
    return this.#write([{ kind: 'closed' }]).then(
      () => true,
      () => false,
    )
  }

  async #write(events: readonly AuditEvent[], prefix = ''): Promise<void> {
    let link = this.#link
    let text = prefix
    for (const event of events) {
      const at = { time: this.#options.clock?.() ?? new Date(), replica: this.#options.replica }
      const record = formatRecord(event, at, link)
      link = record.link
      text += `${record.text}\n`
    }
    const bytes = Buffer.from(text)
    await this.#handle?.appendFile(bytes)
    if (this.#options.writing().sync) await this.#handle?.datasync()
    this.#size += bytes.length
    this.#link = link
  }
}
