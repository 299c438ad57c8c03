// A plot on a canvas: axes with ticks, a grid, a line under the mouse, and selecting a range by dragging. chart.tsx draws the lines.
import type { Range } from './curves';
import { linearTicks } from './scales';

export interface PlotOptions {
  width: number;
  height: number;
  x: Range;
  y: Range;
  isLog: boolean;
  /** x are seconds since 1970: ticks are at full minutes, hours or days of the viewer's time zone. */
  isTime: boolean;
  xLabel: string;
  /** The texts of ticks; `distance` is that between two of them. */
  xTexts: (ticks: number[], distance: number) => string[];
  yTexts: (ticks: number[]) => string[];
  textColor: string;
  gridColor: string;
  /** Draws on the area of the plot, to which it is clipped. */
  draw: (plot: Plot) => void;
  onSelect: (range: Range) => void;
}

const font = '11px system-ui, sans-serif';
const top = 8, right = 12, bottom = 40;
const selectMin = 4;  // pixels

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];

function timeTicks({ min, max }: Range, count: number): number[] {
  const step = timeSteps.find((each) => each >= (max - min) / count);
  if ((max - min) / count < 1 || step === undefined) return linearTicks(min, max, count);
  const zone = -60 * new Date(min * 1000).getTimezoneOffset();
  const ticks: number[] = [];
  for (let tick = Math.ceil((min + zone) / step) * step - zone; tick <= max; tick += step) ticks.push(tick);
  return ticks;
}

/** Powers of ten; multiples of them if there are too few. */
function logTicks({ min, max }: Range, count: number): number[] {
  const [low, high] = [Math.ceil(Math.log10(min) - 1e-9), Math.floor(Math.log10(max) + 1e-9)];
  const every = Math.max(1, Math.ceil((high - low + 1) / count));
  const powers: number[] = [];
  for (let power = low; power <= high; power += every) powers.push(10 ** power);
  if (powers.length >= 2) return powers;
  const finer: number[] = [];
  for (let power = low - 1; power <= high; ++power) for (const times of [1, 2, 5]) finer.push(times * 10 ** power);
  const inside = finer.filter((tick) => tick >= min && tick <= max);
  return inside.length >= 2 ? inside : linearTicks(min, max, count);
}

export class Plot {
  readonly root = document.createElement('div');
  /** Lies over the area of the plot. */
  readonly over = document.createElement('div');
  readonly canvas = document.createElement('canvas');
  readonly ctx = this.canvas.getContext('2d')!;
  readonly width: number;
  private readonly left: number;
  private readonly yTicks: number[];
  private readonly select = document.createElement('div');
  private readonly cursor = document.createElement('div');
  private from: number | null = null;  // where the dragging began

  constructor(box: HTMLElement, private readonly options: PlotOptions) {
    const { width, height, y, isLog } = options;
    this.width = width;
    this.yTicks = isLog ? logTicks(y, Math.max(2, height / 36)) : linearTicks(y.min, y.max, Math.min(10, Math.max(3, this.innerHeight / 24)));
    const texts = options.yTexts(this.yTicks);
    this.left = 14 + 6.2 * Math.max(2, ...texts.map((text) => text.length));
    this.root.className = 'axes';
    this.root.style.width = width + 'px';
    this.over.className = 'area';
    Object.assign(this.over.style, { left: this.left + 'px', top: top + 'px', width: this.innerWidth + 'px', height: this.innerHeight + 'px' });
    this.select.className = 'selected';
    this.cursor.className = 'cursor-x';
    this.over.append(this.cursor, this.select);
    this.root.append(this.canvas, this.over);
    box.append(this.root);
    this.over.addEventListener('mousedown', this.onDown);
    this.over.addEventListener('mousemove', this.onHover);
    this.over.addEventListener('mouseleave', this.onLeave);
    this.drawAll(texts);
  }

  get innerWidth(): number { return Math.max(10, this.width - this.left - right); }
  get innerHeight(): number { return Math.max(10, this.options.height - top - bottom); }

  /** The position of a value in pixels, from the left and the top of the area. */
  xAt(value: number): number {
    const { min, max } = this.options.x;
    return (value - min) / (max - min) * this.innerWidth;
  }
  yAt(value: number): number {
    const { y: { min, max }, isLog } = this.options;
    return (1 - (isLog ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min))) * this.innerHeight;
  }
  /** The value of x at such a position. */
  valueAt(left: number): number {
    const { min, max } = this.options.x;
    return min + left / this.innerWidth * (max - min);
  }

  destroy(): void {
    this.stopDragging();
    this.root.remove();
  }

  private drawAll(yTexts: string[]): void {
    const { ctx, canvas, left, innerWidth, innerHeight, yTicks } = this;
    const { width, height, x, isTime, xLabel, xTexts, textColor, gridColor, draw } = this.options;
    const count = Math.max(2, Math.floor(innerWidth / 66));
    const xTicks = isTime ? timeTicks(x, count) : linearTicks(x.min, x.max, count);
    const texts = xTexts(xTicks, xTicks.length > 1 ? xTicks[1]! - xTicks[0]! : x.max - x.min);
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    Object.assign(canvas.style, { width: width + 'px', height: height + 'px' });
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.translate(left, top);
    ctx.strokeStyle = gridColor;
    ctx.beginPath();
    const grid = (x1: number, y1: number, x2: number, y2: number) => { ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); };
    const half = (position: number) => Math.round(position) + 0.5;  // one sharp pixel
    for (const tick of xTicks) grid(half(this.xAt(tick)), 0, half(this.xAt(tick)), innerHeight);
    for (const tick of yTicks) grid(0, half(this.yAt(tick)), innerWidth, half(this.yAt(tick)));
    ctx.stroke();
    ctx.fillStyle = textColor;
    ctx.font = font;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    xTicks.forEach((tick, i) => {
      const text = texts[i] ?? '', space = ctx.measureText(text).width / 2;
      ctx.fillText(text, Math.max(space - left, Math.min(innerWidth + right - space, this.xAt(tick))), innerHeight + 5);
    });
    ctx.fillText(xLabel, innerWidth / 2, innerHeight + 23);
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    yTicks.forEach((tick, i) => ctx.fillText(yTexts[i] ?? '', -5, this.yAt(tick)));
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, innerWidth, innerHeight);
    ctx.clip();
    draw(this);
    ctx.restore();
  }

  private positionOf(event: MouseEvent): number {
    return Math.max(0, Math.min(this.innerWidth, event.clientX - this.over.getBoundingClientRect().left));
  }
  private readonly onHover = (event: MouseEvent) => {
    this.cursor.style.transform = `translateX(${this.positionOf(event)}px)`;
    this.cursor.style.visibility = 'visible';
  };
  private readonly onLeave = () => { this.cursor.style.visibility = 'hidden'; };
  private readonly onDown = (event: MouseEvent) => {
    if (event.button !== 0) return;
    this.from = this.positionOf(event);
    document.addEventListener('mousemove', this.onDrag);
    document.addEventListener('mouseup', this.onUp);
  };
  private readonly onDrag = (event: MouseEvent) => {
    if (this.from === null) return;
    const to = this.positionOf(event);
    Object.assign(this.select.style, { left: Math.min(this.from, to) + 'px', width: Math.abs(to - this.from) + 'px' });
  };
  private readonly onUp = (event: MouseEvent) => {
    const from = this.from, to = this.positionOf(event);
    this.stopDragging();
    if (from !== null && Math.abs(to - from) >= selectMin) this.options.onSelect({ min: this.valueAt(Math.min(from, to)), max: this.valueAt(Math.max(from, to)) });
  };
  private stopDragging(): void {
    this.from = null;
    this.select.style.width = '0';
    document.removeEventListener('mousemove', this.onDrag);
    document.removeEventListener('mouseup', this.onUp);
  }
}
