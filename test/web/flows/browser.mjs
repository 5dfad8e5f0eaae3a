// Starts a Chromium that flows connect to, and prints where. It ends with its input.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { chromium } = createRequire(join(process.env.STET_MODULES, 'x'))('playwright-core')

const server = await chromium.launchServer({
  executablePath: process.argv[2],
  chromiumSandbox: process.getuid?.() !== 0,
  args: ['--disable-dev-shm-usage'],
})
console.log(server.wsEndpoint())
process.stdin.resume()
process.stdin.on('end', async () => {
  await server.close()
  process.exit(0)
})
