import { render } from 'preact';
import './style.css';
import { followChanges, takeTokenFromAddress } from './api';
import { snapshot } from './snapshot';
import { App, applyTheme, savedTheme } from './app';

takeTokenFromAddress();
applyTheme(savedTheme());
render(<App />, document.getElementById('page')!);
if (!snapshot) void followChanges();
