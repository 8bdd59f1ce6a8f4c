/** Sends the requests of a run. */
import { setTimeout as wait } from 'node:timers/promises'
import { Connection, type Received } from './client.ts'
import { type Stage, usersOf } from './rigs.ts'
import { bytesOf, messageOf, type Values } from './texts.ts'
import type { Send, Text } from './vocabulary.ts'

export interface Sender {
  /** Of the placeholders: what a run has saved, and `basic NAME`, `token NAME` and `password NAME` of a user. */
  readonly values: Values
  /** Returns the responses in the order of the requests; none of clients that leave. `onSent`: each time all are sent. */
  send(send: Send, onSent?: () => void): Promise<Received[]>
  close(): void
}

export function createSender(stage: Stage, saved: ReadonlyMap<string, string>): Sender {
  const kept = new Map<string, Connection>()
  const tokens = new Map<string, Promise<string>>()
  const logIn = async (user: string) => {
    const headers = { Authorization: `Basic ${await values(`basic ${user}`)}` }
    const path = '/security/user/authenticate?raw=true'
    const [response] = await send({ method: 'POST', path, headers, port: stage.rig.port ?? 'first' })
    if (response?.status !== 200) throw new Error(`no token for ${user}: ${response?.body}`)
    return response.body.toString()
  }
  const values: Values = (name) => {
    const [kind = '', user = ''] = name.split(' ')
    const password = usersOf(stage.rig)[user]?.password
    if (kind === 'token') {
      const token = tokens.get(user) ?? logIn(user)
      tokens.set(user, token)
      return token
    }
    if (kind === 'basic' && password !== undefined) return Buffer.from(`${user}:${password}`).toString('base64')
    return kind === 'password' ? password : saved.get(name)
  }

  async function send(what: Send, onSent?: () => void): Promise<Received[]> {
    const { times = 1, clients = 1, first = 0, gapMs } = what
    const received: Received[][] = []
    for (let at = 0; at < times; at += 1) {
      if (gapMs !== undefined && at > 0) await wait(between(gapMs, at / times))
      const connections = Array.from({ length: clients }, () => connectionFor(what))
      // All requests arrive together: the first is not answered before the last client has connected.
      await Promise.all(connections.map(({ connected }) => connected))
      const requests = await Promise.all(connections.map((_, client) => bytesFor(what, first + at * clients + client)))
      const together = connections.map((connection, client) => exchange(what, connection, requests[client]))
      onSent?.()
      received.push(...(await Promise.all(together)))
    }
    return received.flat()
  }

  function bytesFor(what: Send, index: number): Promise<Buffer> {
    const ofRequest: Values = (name) => (/^i(:\d)?$/.test(name) ? numbered(index, name) : values(name))
    return what.raw === undefined ? requestOf(what, stage, ofRequest) : messageOf(what.raw, ofRequest)
  }

  async function exchange(what: Send, connection: Connection, bytes: Buffer = Buffer.alloc(0)): Promise<Received[]> {
    try {
      if (what.leave !== undefined && what.leave.how !== 'halfClose') {
        await connection.leave(bytes, what.leave)
        return []
      }
      const rest = what.continueWith === undefined ? {} : { continueWith: await bytesOf(what.continueWith, values) }
      const half = what.leave === undefined ? {} : { halfCloseAfterMs: what.leave.afterMs }
      return await connection.exchange(bytes, { responses: what.responses ?? 1, ...rest, ...half })
    } finally {
      if (what.connection === undefined) connection.close()
    }
  }

  function connectionFor({ connection: name, port = stage.rig.port ?? 'first' }: Send): Connection {
    const known = name === undefined ? undefined : kept.get(name)
    if (known !== undefined) return known
    const number = stage.ports[port]
    if (number === undefined) throw new Error(`the edge has no port ${port}`)
    const connection = new Connection(number, stage.isSecure && port !== 'operations')
    if (name !== undefined) kept.set(name, connection)
    return connection
  }

  return {
    values,
    send,
    close: () => {
      for (const connection of kept.values()) connection.close()
    },
  }
}

/** `i:3`: with at least three digits. */
function numbered(index: number, name: string): string {
  return String(index).padStart(Number(name.split(':')[1] ?? 1), '0')
}

/** Spreads the gaps over the interval. */
function between([from = 0, to = 0]: readonly number[], share: number): number {
  return from + (to - from) * share
}

/** `Host` and the headers of the rig come first. A row replaces them, or leaves them out with `null`. */
async function requestOf(send: Send, { rig }: Stage, values: Values): Promise<Buffer> {
  const { method = 'GET', path = '/', version = '1.1' } = send
  const body = send.body === undefined ? undefined : await bytesOf(send.body, values)
  const host = version === '1.1' ? { Host: 'edge' } : {}
  const length = body === undefined ? {} : { 'Content-Length': String(body.length) }
  const headers = { ...host, ...rig.headers, ...length, ...send.headers }
  const lines: Buffer[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) continue
    for (const text of linesOf(value))
      lines.push(Buffer.from(`${name}: `), await bytesOf(text, values), Buffer.from('\r\n'))
  }
  const start = Buffer.concat([
    Buffer.from(`${method} `),
    await bytesOf(path, values),
    Buffer.from(` HTTP/${version}\r\n`),
  ])
  return Buffer.concat([start, ...lines, Buffer.from('\r\n'), body ?? Buffer.alloc(0)])
}

function linesOf(value: Text | { readonly lines: readonly Text[] }): readonly Text[] {
  return typeof value === 'object' && !Array.isArray(value) && 'lines' in value ? value.lines : [value]
}
