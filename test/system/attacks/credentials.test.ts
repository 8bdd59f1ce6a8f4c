import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { sendRaw } from '../../support/raw.ts'
import { alive, stage } from './rows.ts'

const base64url = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

t.test('bad credentials are rejected before anything is forwarded', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  const send = (headers: string, path = '/agents?limit=1') =>
    sendRaw(at.edge.url, `GET ${path} HTTP/1.1\r\nHost: edge\r\n${headers}Connection: close\r\n\r\n`)
  const basic = (text: string | Buffer) => `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`

  await t.test('B01: malformed and wrong Basic credentials', async (t) => {
    const before = at.reached()
    const bad: readonly (readonly [string, string])[] = [
      ['not base64', 'Authorization: Basic !!!\r\n'],
      ['no colon', basic('admin')],
      ['an empty user', basic(':admin-pw')],
      ['an empty password', basic('admin:')],
      ['a NUL', basic('ad\0min:admin-pw')],
      ['a line feed in the name', basic('admin\r\nX: y:admin-pw')],
      ['not UTF-8', basic(Buffer.from('adm\xffn:admin-pw', 'latin1'))],
      ['8 kB', basic(`admin:${'a'.repeat(7000)}`)],
      ['a wrong password', basic('admin:wrong')],
      ['an unknown user', basic('nobody:admin-pw')],
      ['another scheme', 'Authorization: Digest username="admin"\r\n'],
      ['two headers', `${basic('admin:admin-pw')}${basic('admin:admin-pw')}`],
      ['nothing', ''],
    ]
    for (const [what, headers] of bad) {
      const response = await send(headers)
      t.ok([400, 401].includes(response.status), `${what}: ${response.status}`)
      if (response.status === 401) t.match(response.headers['www-authenticate'], /Basic realm=/, what)
    }
    t.equal(at.reached(), before, 'nothing reached a node')
  })

  await t.test('T01: forged and malformed tokens', async (t) => {
    const issued = await fetch(`${at.edge.url}/security/user/authenticate`, {
      method: 'POST',
      headers: { authorization: at.edge.authorization('admin') },
    })
    const { token } = ((await issued.json()) as { data: { token: string } }).data
    const [header = '', claims = '', signature = ''] = token.split('.')
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
    const own = generateKeyPairSync('ed25519')
    const signed = (head: unknown, body: unknown) => {
      const text = `${base64url(head)}.${base64url(body)}`
      return `${text}.${sign(null, Buffer.from(text), own.privateKey).toString('base64url')}`
    }
    const hmac = (head: unknown) => {
      const text = `${base64url(head)}.${claims}`
      const key = createPublicKey(own.privateKey).export({ type: 'spki', format: 'pem' })
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
    }
    const before = at.reached()
    const bad: readonly (readonly [string, string])[] = [
      ['alg none', `${base64url({ ...read(header), alg: 'none' })}.${claims}.`],
      ['alg None', `${base64url({ ...read(header), alg: 'None' })}.${claims}.${signature}`],
      ['no signature', `${header}.${claims}.`],
      ['HS256', hmac({ ...read(header), alg: 'HS256' })],
      ['HS384', hmac({ ...read(header), alg: 'HS384' })],
      ['another key under the same kid', signed(read(header), read(claims))],
      ['a kid that climbs', signed({ ...read(header), kid: '../../etc/passwd' }, read(claims))],
      ['a kid of the prototype', signed({ ...read(header), kid: '__proto__' }, read(claims))],
      [
        'an embedded key',
        signed({ ...read(header), jwk: createPublicKey(own.privateKey).export({ format: 'jwk' }) }, read(claims)),
      ],
      ['crit', signed({ ...read(header), crit: ['exp'] }, read(claims))],
      ['b64 false', signed({ ...read(header), b64: false }, read(claims))],
      ['other claims', `${header}.${base64url({ ...read(claims), sub: 'operator' })}.${signature}`],
      ['four parts', `${token}.x`],
      ['padding', `${token}=`],
      ['another last character', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
      ['5 kB', `${header}.${'a'.repeat(5000)}.${signature}`],
    ]
    for (const [what, text] of bad) {
      const response = await send(`Authorization: Bearer ${text}\r\n`)
      t.ok([400, 401].includes(response.status), `${what}: ${response.status}`)
      if (response.status === 401) t.match(response.headers['www-authenticate'], /Bearer/, what)
    }
    t.equal((await send('', `/agents?access_token=${token}`)).status, 401, 'T04: a token in the query')
    t.equal((await send(`Cookie: token=${token}\r\n`)).status, 401, 'T04: a token in a cookie')
    t.equal(at.reached(), before, 'nothing reached a node')
    t.equal((await send(`Authorization: Bearer ${token}\r\n`)).status, 200, 'the token itself is good')
  })

  await t.test('D03: no log line contains a secret that was sent', async (t) => {
    const canary = 'canary-7f3a91'
    await send(basic(`admin:${canary}`))
    await send(`Authorization: Bearer ${canary}.${canary}.${canary}\r\n`)
    await send(basic('admin:admin-pw'), `/agents?search=${canary}`)
    await send(`${basic('admin:admin-pw')}Cookie: ${canary}\r\nX-Api-Key: ${canary}\r\n`, `/agents/name/${canary}`)
    await fetch(`${at.edge.url}/agents/insert`, {
      method: 'POST',
      headers: { authorization: at.edge.authorization('admin'), 'content-type': 'application/json' },
      body: JSON.stringify({ name: canary, id: 'x', key: canary, ip: 'any' }),
    })
    t.notMatch(at.edge.logged.join(''), canary)
    t.notMatch(at.edge.logged.join(''), 'admin-pw')
    t.ok(at.edge.logged.length > 10, 'though requests are logged')
  })
  t.ok(await alive(at))
})
