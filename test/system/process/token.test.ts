import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configFolder } from './config.ts'
import { program, result } from './program.ts'

t.test('token makes a key, and issues a token that the edge accepts', async (t) => {
  const { file, keys } = await configFolder(t)
  const key = await result(t, ['token', 'key', keys])
  t.equal(key.out, `${join(keys, key.out.split('/').at(-1) ?? '')}`, 'prints the file')
  t.equal(statSync(key.out.trim()).mode & 0o777, 0o600)

  const edge = program(t, ['start', '--config', file])
  const [, url] = await edge.until(/"url":"([^"]+)"/)
  const { out: token, err: lifetime } = await result(t, ['token', 'issue', 'alice', '--config', file])
  t.match(lifetime, 'valid for 900 s')
  const answer = await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token.trim()}` } })
  t.equal(answer.status, 200, 'the token is accepted')
  const unknown = await result(t, ['token', 'issue', 'eve', '--config', file])
  t.equal(unknown.code, 1)
  t.match(unknown.err, 'has no user eve')
  edge.child.kill('SIGTERM')
  await edge.ended
})
