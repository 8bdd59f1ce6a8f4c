import t from 'tap'
import { returnPath } from '../../server/sign-in/page-parts.ts'

t.test('a sign-in returns to the page that the operator opened', async (t) => {
  for (const path of [
    '/console/',
    '/console/#/cache/entries?q=a%20b',
    '/docs',
    '/metrics',
    '/openapi.json',
    '/openapi-v4.json',
  ])
    t.equal(returnPath(path), path)
})

t.test('a sign-in never returns to another site, or to a path that does something', async (t) => {
  const others = [
    'https://evil.example/',
    '//evil.example/console/',
    '/\\evil.example',
    '\\\\evil.example',
    '/.//evil.example',
    '/console/../sign-in/issuer',
    '/console/\n',
    '/console/?x',
    'javascript:alert(1)',
    '/sign-in',
    '',
    undefined,
    ['/console/'],
    `/console/#${'x'.repeat(1001)}`,
  ]
  for (const other of others) t.equal(returnPath(other), '/console/', String(other))
})
