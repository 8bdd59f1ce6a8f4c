import t from 'tap'
import type { VerifyPassword } from '../../../src/access/passwords.ts'
import { basic, passwords, startEdge } from './edge.ts'

const encoded = (bytes: string | Buffer) => `Authorization: Basic ${Buffer.from(bytes).toString('base64')}`

t.test('a user of the file has the permissions of its roles', async (t) => {
  const edge = await startEdge(t)
  const reply = await edge.ask([basic('bob', passwords.bob)])
  t.match(JSON.parse(reply.text), { name: 'bob', permissions: ['*:read'] })
  const shouted = await edge.ask([basic('bob', passwords.bob).replace('Basic', 'bASIC')])
  t.equal(shouted.status, 200, 'schemes are known without case')
})

t.test('malformed credentials are refused like unknown ones, without a bcrypt hash', async (t) => {
  const edge = await startEdge(t)
  const good = Buffer.from(`bob:${passwords.bob}`).toString('base64')
  const rows: Record<string, string[]> = {
    'no header': [],
    'another scheme': ['Authorization: Digest username="bob"'],
    'scheme only': ['Authorization: Basic'],
    'bad base64': ['Authorization: Basic %%%'],
    'base64 with spare bits': [`Authorization: Basic ${good.replace('A==', 'B==')}`],
    'no padding': [`Authorization: Basic ${good.replace('==', '')}`],
    'URL alphabet': ['Authorization: Basic Ym9iOv-_'],
    'two blanks': [`Authorization: Basic  ${good}`],
    'no colon': [encoded('bob')],
    'empty user': [encoded(`:${passwords.bob}`)],
    NUL: [encoded(`bob\0:${passwords.bob}`)],
    CRLF: [encoded(`bob:${passwords.bob}\r\n`)],
    'a password beyond 72 bytes': [basic('bob', 'x'.repeat(73))],
    'in the query': [],
  }
  for (const [name, lines] of Object.entries(rows)) {
    const reply = await edge.ask(lines, `GET /who?authorization=${good}&access_token=x`)
    t.equal(reply.status, 401, name)
    t.match(
      reply.headers['www-authenticate'],
      /^Basic realm="manager-edge", charset="UTF-8", Bearer realm="manager-edge"$/,
    )
  }
  t.equal(edge.logged.filter((line) => line.includes('login refused')).length, 1, 'only the long one was looked up')
  const long = await edge.ask([encoded('b'.repeat(7000))])
  t.equal(long.status, 400, 'over 8 kB')
})

t.test('bytes that are no UTF-8 are Latin-1: a user of the file logs in with both', async (t) => {
  const edge = await startEdge(t)
  for (const charset of ['utf8', 'latin1', 'utf8'] as const)
    t.equal((await edge.ask([encoded(Buffer.from('jörg:Straße§1!', charset))])).status, 200, charset)
  for (const charset of ['utf8', 'latin1'] as const)
    t.equal((await edge.ask([encoded(Buffer.from('jörg:Strasse', charset))])).status, 401, charset)
})

t.test('in mode passthrough, the manager gets the bytes that the client sent', async (t) => {
  const sent: string[] = []
  const verify: VerifyPassword = async ({ username, password, charset }) => {
    sent.push(Buffer.from(`${username}:${password}`, charset).toString('base64'))
    // The manager decodes Latin-1.
    return charset === 'latin1'
  }
  const edge = await startEdge(t, { users: { verify, role: 'operator' } })
  const pair = (charset: BufferEncoding) => Buffer.from('j.doe:Straße§1!', charset)
  for (let turn = 0; turn < 2; turn += 1) {
    const reply = await edge.ask([encoded(pair('latin1'))])
    t.match(JSON.parse(reply.text), { name: 'j.doe', credentials: { password: 'Straße§1!', charset: 'latin1' } })
  }
  t.equal((await edge.ask([encoded(pair('utf8'))])).status, 401, 'other bytes are another password')
  t.same(sent, ['ai5kb2U6U3RyYd9lpzEh', pair('utf8').toString('base64')])
})

t.test('no log line contains a password', async (t) => {
  const edge = await startEdge(t)
  const canary = 'canary-5d1f'
  await edge.ask([basic('bob', canary)])
  await edge.ask([basic(canary, 'x')])
  await edge.ask([`Authorization: Bearer ${canary}`])
  t.match(edge.logged.join('\n'), /login refused.*"user":"bob"/)
  t.notMatch(edge.logged.join('\n'), canary)
  t.notMatch(edge.logged.join('\n'), Buffer.from(canary).toString('base64').slice(0, 12))
})

t.test('in mode passthrough, the manager verifies credentials once a minute, and tokens are refused', async (t) => {
  const asked: string[] = []
  const verify: VerifyPassword = async ({ username: name, password }) => {
    asked.push(name)
    if (name === 'down') throw new Error('manager unreachable')
    return password === 'right'
  }
  const edge = await startEdge(t, { users: { verify, role: 'operator' } })
  for (let turn = 0; turn < 3; turn++) {
    const reply = await edge.ask([basic('carol', 'right')])
    t.match(JSON.parse(reply.text), { name: 'carol', credentials: { username: 'carol', password: 'right' } })
  }
  t.same(asked, ['carol'])
  const wrong = await edge.ask([basic('carol', 'guess')])
  t.equal(wrong.status, 401)
  t.equal(wrong.headers['www-authenticate'], 'Basic realm="manager-edge", charset="UTF-8"')
  t.equal((await edge.ask(['Authorization: Bearer a.b.c'])).status, 401)
  t.equal((await edge.ask([basic('carol', 'right')], 'POST /security/user/authenticate')).status, 403)
  for (let turn = 0; turn < 9; turn++) t.equal((await edge.ask([basic('down', 'x')])).status, 500, 'not a failed login')
})

t.test('a users file that does not exist is refused', async (t) => {
  await t.rejects(startEdge(t, { users: { file: '/nowhere/users' } }), /ENOENT/)
})
