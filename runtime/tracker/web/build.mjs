// Bundles page/ into bundle/: node build.mjs [DIRECTORY]. The same sources give the same bytes.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const bundle = process.argv[2] ?? join(here, 'bundle');

mkdirSync(bundle, { recursive: true });
for (const name of readdirSync(bundle)) rmSync(join(bundle, name));

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { page: 'page/main.tsx' },
  outdir: bundle,
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'ascii',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

const names = Object.keys(metafile.outputs).map((path) => path.split('/').pop());
const script = names.find((name) => name.endsWith('.js'));
const style = names.find((name) => name.endsWith('.css'));
const index = readFileSync(join(here, 'page/index.html'), 'utf8')
  .replace('page.js', script).replace('page.css', style);
writeFileSync(join(bundle, 'index.html'), index);
