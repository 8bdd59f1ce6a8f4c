/** `check --connect` reads the description of the issuer that signs operators in. */
import t from 'tap'
import { CLIENT_ID, startIssuer } from '../sign-in/issuer.ts'
import { configFolder } from './config.ts'
import { result } from './program.ts'

t.test('check finds an issuer of sign-ins that cannot be used', async (t) => {
  const issuer = await startIssuer(t)
  const { file, createKey, write } = await configFolder(t)
  await createKey()
  const check = () => result(t, ['check', '--config', file, '--connect'])
  const redirectUrl = 'https://ops.example/sign-in/callback'
  const configure = (url: string) =>
    write({}, { operations: { signIn: { issuer: url, clientId: CLIENT_ID, redirectUrl } } })

  configure(issuer.url)
  const good = await check()
  t.equal(good.code, 0, good.err)
  t.match(good.out, /^sign-in: ok\nok\n$/m)

  configure(`${issuer.url}/another`)
  const another = await check()
  t.equal(another.code, 1)
  t.match(another.out, `sign-in: failed: ${issuer.url}/another: unexpected HTTP response status code`)
  t.match(another.err, /^the issuer of sign-ins cannot be used; the lines above/)

  configure(issuer.url.replace('127.0.0.1', 'localhost'))
  t.match((await check()).out, 'discovered metadata issuer does not match the expected issuer')
})
