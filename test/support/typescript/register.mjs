// Node 20 reads no TypeScript. Here its types are cut away and nothing else: `npm run types` checks them.
import { register } from 'node:module'

register('./hooks.mjs', import.meta.url)
