import { readFileSync } from 'node:fs'
import t from 'tap'
import { result } from './program.ts'

t.test('--help and --version print, and unknown commands or options exit with code 2', async (t) => {
  const help = await result(t, ['--help'])
  t.equal(help.code, 0)
  for (const name of ['start', 'demo', 'check', 'user', 'token', 'audit', 'routes', 'openapi'])
    t.match(help.out, ` ${name} `)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { out } = await result(t, ['--version'])
  t.match(out, /^[\d.]+ \(commit [0-9a-f]{12}\)\n$/)
  t.ok(out.startsWith(`${version} `), out)
  for (const args of [['strat'], ['start', '--nothing'], ['user', 'add'], ['demo', '--agents', 'many'], []]) {
    const { code, err } = await result(t, args)
    t.equal(code, 2, `${args.join(' ')}: code`)
    t.not(err, '', `${args.join(' ')}: prints the reason`)
  }
  t.match((await result(t, ['strat'])).err, 'Did you mean start?')
})

t.test('routes and openapi print the catalogue', async (t) => {
  const routes = await result(t, ['routes'])
  t.match(routes.out, /^METHOD +PATH +PERMISSION/)
  t.match(routes.out, /GET +\/agents\/:agent_id +agents:read/)
  const openapi = await result(t, ['openapi', '--server', 'https://edge.example'])
  t.match(JSON.parse(openapi.out), { openapi: '3.1.0', servers: [{ url: 'https://edge.example' }] }, 'whole JSON')
})
