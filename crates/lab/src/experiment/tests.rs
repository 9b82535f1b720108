//! Files that are read, and files that are refused.

use super::*;
use std::collections::BTreeSet;

const SOUND: &str = r#"paper = "sigcomm"
figure = "figure 19"
caption = "A caption."
claim = "A claim."
takes = "1s"

[scenario.end-of-congestion]
rtt = "85ms"
packet = "1000B"
lost_one_in = 100
lead_in = "20s"
ends_at = "10s"
until = "13s"

[[panel]]
curves = "rate"
x = "time (s)"
y = "rate"

[[check]]
name = "increase"
low = 0.08
high = 0.15
source = "figure 19"
"#;

fn error(text: &str) -> String {
    let read = Definition::read(Path::new("experiments/e.toml"), text);
    read.unwrap_err().to_string()
}

fn with(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from));
    SOUND.replace(from, to)
}

#[test]
fn a_sound_file_is_read() {
    let definition = Definition::read(Path::new("e.toml"), SOUND).unwrap();
    assert_eq!(definition.seeds, 1);
    assert_eq!(definition.clock, ClockKind::Virtual);
    assert_eq!(definition.checks[0].low, Some(0.08));
}

#[test]
fn an_error_names_file_line_key_and_what_would_be_right() {
    let told = error(&with("\"85ms\"", "\"85\""));
    assert!(told.starts_with("experiments/e.toml:8: rtt: "), "{told}");
    assert!(told.contains("such as \"50ms\""), "{told}");

    let told = error(&with("lost_one_in", "lost_one_out"));
    assert!(told.starts_with("experiments/e.toml:10: "), "{told}");
    assert!(
        told.contains("lost_one_out") && told.contains("`lost_one_in`"),
        "{told}"
    );

    let told = error(&with("packet = \"1000B\"\n", ""));
    assert!(told.starts_with("experiments/e.toml:7: "), "{told}");
    assert!(told.contains("packet"), "{told}");
}

#[test]
fn an_impossible_number_is_an_error_at_load() {
    let told = error(&with("\"85ms\"", "\"0s\""));
    assert_eq!(told, "experiments/e.toml:8: rtt: rtt must be above 0");
    let told = error(&with("low = 0.08", "low = 0.2"));
    assert!(told.starts_with("experiments/e.toml:22: "), "{told}");
    let told = error(&with("low = 0.08\nhigh = 0.15\n", ""));
    assert!(told.contains("a check needs low, high or both"), "{told}");
    let told = error(&with("takes = \"1s\"", "takes = \"1s\"\nseeds = 0"));
    assert_eq!(told, "experiments/e.toml:6: seeds: from 1 to 1000 seeds");
}

#[test]
fn a_brace_that_is_not_closed_is_an_error_at_load() {
    let told = error(&with("takes = ", "notes = \"{increase\"\ntakes = "));
    assert!(told.starts_with("experiments/e.toml:5: notes: "), "{told}");
    assert!(told.contains("quotes metrics as {metric}"), "{told}");
}

#[test]
fn what_is_wrong_is_told_where_it_stands_and_not_where_its_like_does() {
    let bottlenecks = r#"paper = "sigcomm"
figure = "1"
caption = "A caption."
claim = "A claim."
takes = "1s"
[scenario.timeline]
packet = "1000B"
tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
start_spread = "1s"
jitter = 1.0
shown = ["0s", "20s"]
measured = ["10s", "20s"]
drawn = "1s"
ratio_timescales = []
group = [
  { name = "TFRC", protocol = "tfrc", count = 1, start = "0s" },
  { name = "TCP", protocol = "tcp", count = 1, start = "0s" },
]
case = [
  { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
  { name = "b", rtt = "20ms", rate = "2Mb/s", queue = { drop-tail = { packets = 8 } } },
]
[[panel]]
curves = "cov"
x = "x"
y = "y"
[[panel]]
curves = "cov"
x = "x"
y = "y"
y_range = [0.0, 1.0]
[[check]]
name = "utilisation_a"
low = 0.5
source = "ours"
"#;
    assert!(Definition::read(Path::new("e.toml"), bottlenecks).is_ok());
    for (from, to, told) in [
        (
            "packets = 8",
            "packets = 0",
            "21: packets: packets must be at least 1",
        ),
        (
            "{ packets = 8 }",
            "8",
            "21: drop-tail: invalid type: integer `8`, expected a table: { key = value, … }",
        ),
        (
            "min_rto = \"200ms\"",
            "min_rto = \"0s\"",
            "8: min_rto: min_rto must be above 0, or a clock above 0",
        ),
        (
            "2Mb/s",
            "2MB/s",
            "21: rate: invalid value: string \"2MB/s\"",
        ),
        (
            "2Mb/s",
            "0Mb/s",
            "21: rate: invalid value: string \"0Mb/s\"",
        ),
        ("rate = \"2Mb/s\", ", "", "21: case: missing field `rate`"),
        (
            "\"b\"",
            "\"a\"",
            "21: name: name must be another in each case",
        ),
        (
            "\"TCP\"",
            "\"tfrc\"",
            "17: name: name must be another in each group",
        ),
        (
            "\"tcp\", count = 1",
            "\"tcp\", count = 9999999999",
            "17: count: ",
        ),
        (
            "\"tcp\", count = 1",
            "\"sctp\", count = 1",
            "17: protocol: unknown variant",
        ),
        ("[0.0, 1.0]", "[1.0, 0.0]", "31: y_range: a range is"),
        ("[0.0, 1.0]", "[1.0]", "31: y_range: "),
        ("low = 0.5\n", "", "32: high: a check needs"),
        ("low = 0.5", "low = nan", "34: low: a check needs"),
        ("paper = \"sigcomm\"\n", "", "1: missing field `paper`"),
        ("timeline]", "timelien]", "6: timelien: unknown variant"),
        ("takes = ", "takes ", "5: key with no value"),
    ] {
        assert!(bottlenecks.contains(from), "{from}");
        let told_is = error(&bottlenecks.replacen(from, to, 1));
        let wanted = format!("experiments/e.toml:{told}");
        assert!(told_is.starts_with(&wanted), "{told_is}\nnot {wanted}");
    }
}

#[test]
fn the_real_half_is_the_scenario_with_what_the_test_bed_changes() {
    let experiment = |real: &str| {
        let text = with("[[panel]]", &format!("{real}\n[[panel]]"));
        Experiment {
            id: "e".into(),
            definition: Definition::read(Path::new("e.toml"), &text).unwrap(),
            text,
            folder: PathBuf::new(),
            settings: Vec::new(),
        }
    };
    assert!(experiment("").real().unwrap().is_none());
    let real = experiment("[real]\nuntil = \"20s\"\n")
        .real()
        .unwrap()
        .unwrap();
    assert_eq!(
        (real.id.as_str(), real.definition.clock),
        ("e-real", ClockKind::Real)
    );
    assert!(format!("{:?}", real.definition.scenario).contains("until: Time(20s)"));
    let told = experiment("[real]\nspeed = 3\n")
        .real()
        .unwrap_err()
        .to_string();
    assert!(
        told.starts_with("e: [real]: ") && told.contains("speed"),
        "{told}"
    );
}

#[test]
fn each_half_is_held_to_its_own_checks() {
    let own = "[[check]]\nname = \"late\"\nhigh = 1.0\nclock = \"real\"\nsource = \"ours\"\n";
    let text = with("[[panel]]", &format!("[real]\n\n{own}\n[[panel]]"));
    let text = text.replace("low = 0.08", "clock = \"virtual\"\nlow = 0.08");
    let names = |half: ClockKind| {
        let definition = Definition::changed(&text, Path::new(""), half, &[]).unwrap();
        let checks = definition.checks.into_iter();
        checks.map(|check| check.name).collect::<Vec<_>>()
    };
    assert_eq!(names(ClockKind::Virtual), ["increase"]);
    assert_eq!(names(ClockKind::Real), ["late"]);
}

#[test]
fn what_would_be_right_is_said_without_the_names_of_types() {
    for (from, to, right) in [
        (
            "lost_one_in = 100",
            "lost_one_in = -1",
            "lost_one_in: invalid value: integer `-1`, expected a whole number from 0 on",
        ),
        (
            "low = 0.08",
            "low = \"0.08\"",
            "low: invalid type: string \"0.08\", expected a number",
        ),
        (
            "takes =",
            "seeds = -5\ntakes =",
            "expected a whole number from 0 to 4294967295",
        ),
        (
            "takes =",
            "requires = \"p\"\ntakes =",
            "expected a list in brackets",
        ),
        (
            "until =",
            "tfrc = 5\nuntil =",
            ":13: tfrc: invalid type: integer `5`, expected a table: { key = value, … }",
        ),
    ] {
        let said = error(&with(from, to));
        assert!(said.ends_with(right), "{said}");
    }
    let changed = |setting: &str| {
        let settings = [setting.to_owned()];
        Definition::changed(SOUND, Path::new(""), ClockKind::Virtual, &settings)
    };
    let said = changed("tfrc=5").unwrap_err();
    assert!(
        said.ends_with("expected a table: { key = value, … }"),
        "{said}"
    );
}

#[test]
fn settings_change_parameters_and_their_errors_name_them() {
    let set = |setting: &str| {
        Definition::changed(
            SOUND,
            Path::new(""),
            ClockKind::Virtual,
            &[setting.to_owned()],
        )
    };
    assert!(set("rtt=200ms").is_ok());
    assert!(set("lost_one_in=50").is_ok());
    assert!(set("rtt=0s").unwrap_err().contains("above 0"));
    assert!(set("rtt=200").unwrap_err().contains("a time"));
    assert!(set("speed=3").unwrap_err().contains("speed"));
    assert!(set("rtt").unwrap_err().contains("key=value"));
    assert!(set("rtt.x=1").unwrap_err().contains("no table"));
}

#[test]
fn settings_that_fit_only_together_stand_in_any_order_and_the_first_that_is_wrong_is_named() {
    let read = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|of| (*of).to_owned()).collect();
        Experiment::read(Path::new("e.toml"), SOUND.to_owned(), &settings)
            .map(|experiment| experiment.settings)
            .map_err(|error| error.to_string())
    };
    // The end of the file's own run is 13 s.
    for settings in [["ends_at=20s", "until=30s"], ["until=30s", "ends_at=20s"]] {
        assert_eq!(read(&settings).unwrap(), settings);
    }
    let named = |settings: &[&str]| read(settings).unwrap_err();
    let alone = named(&["ends_at=20s"]);
    assert!(alone.starts_with("--set ends_at=20s: "), "{alone}");
    assert_eq!(named(&["ends_at=20s", "rtt=90ms"]), alone);
    assert_eq!(named(&["rtt=90ms", "ends_at=20s"]), alone);
    let unknown = named(&["ends_at=20s", "until=30s", "speed=3", "rtt=90ms"]);
    assert!(unknown.starts_with("--set speed=3: "), "{unknown}");
}

#[test]
fn a_check_of_every_seed_has_one_bound_and_one_metric() {
    let every = |more: &str| {
        with(
            "low = 0.08\nhigh = 0.15\n",
            &format!("every_seed = true\n{more}\n"),
        )
    };
    let read = |more| Definition::read(Path::new("e.toml"), &every(more));
    assert!(read("low = 0.08").is_ok());
    for wrong in ["low = 0.08\nhigh = 0.15", "low = 0.08\nover = \"other\""] {
        assert!(
            error(&every(wrong)).contains("either low or high"),
            "{wrong}"
        );
    }
}

/// Every kind of scenario in which a flow of TFRC runs, by an experiment of it, and where it has its settings.
const WORLDS: &[(&str, &str)] = &[
    ("sigcomm-fig02", "tfrc"),
    ("sigcomm-fig03", "tfrc"),
    ("sigcomm-fig06", "flows.tfrc"),
    ("sigcomm-fig09", "flows.tfrc"),
    ("sigcomm-fig12", "flows.tfrc"),
    ("sigcomm-fig18", "flows.tfrc"),
    ("sigcomm-fig19", "tfrc"),
    ("sigcomm-fig20", "tfrc"),
    ("sigcomm-tab25", "tfrc"),
    ("thesis-fig5-3", "tfrc"),
    ("thesis-fig5-25", "tfrc"),
    ("thesis-fig7-2", "tfrc"),
    ("suitability-map", "tfrc"),
    ("filler", "tfrc"),
    ("vod-tab1", "tfrc"),
    ("rmcat-5-1", "tfrc"),
    ("light-fig9", "tfrc"),
    ("light-selfish", "tfrc"),
    ("compare-controllers", "flows.tfrc"),
    ("feedback-compare", "tfrc"),
    ("feedback-cost", "tfrc"),
    ("hdtv-feedback", "tfrc"),
];

#[test]
fn every_flow_of_tfrc_takes_an_edition_and_t_rto() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for (id, table) in WORLDS {
        let load = |setting: &str| {
            let setting = format!("{table}.{setting}");
            Experiment::load(&folder.join(format!("{id}.toml")), &[setting])
        };
        for setting in ["edition=rfc3448", "t_rto=at-least-1s", "t_rto=rfc6298"] {
            let loaded = load(setting);
            assert!(loaded.is_ok(), "{id}: {}", loaded.unwrap_err());
        }
        assert!(load("t_rto=5R").is_err(), "{id}");
    }
}

/// A wrong value of a parameter, and what its refusal says.
struct WrongParameter {
    key: &'static str,
    value: toml::Value,
    refusals: &'static [&'static str],
}

fn wrong_parameters() -> Vec<WrongParameter> {
    let tfrc = |key: &str, value: toml::Value| {
        let table = toml::Table::from_iter([(key.to_owned(), value)]);
        toml::Value::Table(table)
    };
    vec![
        WrongParameter {
            key: "packet",
            value: "40B".into(),
            refusals: &[
                "packet is 40 B and must be from 41 B to 65000 B",
                "packet is 40 B and must be from 200 B to 65000 B",
                "packet is 40 B and must be from 1344 B to 65000 B",
            ],
        },
        WrongParameter {
            key: "packet",
            value: "100kB".into(),
            refusals: &[
                "packet is 100000 B and must be from 41 B to 65000 B",
                "packet is 100000 B and must be from 200 B to 65000 B",
                "packet is 100000 B and must be from 1344 B to 65000 B",
            ],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("rtt_weight", 5.0.into()),
            refusals: &["rtt_weight is 5 and must be from 0.001 to 1"],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("rtt_weight", f64::NAN.into()),
            refusals: &["rtt_weight is NaN and must be from 0.001 to 1"],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("report_quarters", 0.into()),
            refusals: &["report_quarters is 0 and must be 1 or more"],
        },
    ]
}

/// The paths of all tables within a value, and of the value itself.
fn tables(value: &toml::Value, path: &[String]) -> Vec<Vec<String>> {
    let inner = |(key, value): (String, &toml::Value)| tables(value, &[path, &[key]].concat());
    match value {
        toml::Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.clone(), value));
            let inner = entries.flat_map(inner);
            [path.to_vec()].into_iter().chain(inner).collect()
        }
        toml::Value::Array(array) => {
            let entries = array.iter().enumerate();
            let entries = entries.map(|(index, value)| (index.to_string(), value));
            entries.flat_map(inner).collect()
        }
        _ => Vec::new(),
    }
}

fn table_at<'a>(value: &'a mut toml::Value, path: &[String]) -> &'a mut toml::Table {
    let step = |value: &'a mut toml::Value, key: &String| match value {
        toml::Value::Array(array) => &mut array[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    };
    path.iter().fold(value, step).as_table_mut().unwrap()
}

/// Refuses a wrong parameter before a flow does. The types admit each value, so a table that cannot be read with it lacks the
/// parameter.
#[test]
fn wrong_flow_parameters_are_refused_in_every_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut refused = BTreeSet::new();
    let mut unexpected = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let definition: toml::Value = toml::from_str(&text).unwrap();
        let kinds = definition["scenario"].as_table().unwrap();
        let (kind, scenario) = kinds.iter().next().unwrap();
        let paths = tables(scenario, &["scenario".to_owned(), kind.clone()]);
        for wrong in wrong_parameters() {
            for path in &paths {
                let mut changed = definition.clone();
                table_at(&mut changed, path).insert(wrong.key.to_owned(), wrong.value.clone());
                let Ok(definition) = changed.try_into::<Definition>() else {
                    continue;
                };
                let refusal = definition.scenario.verify().map_err(|it| it.to_string());
                let is_expected = |told: &String| wrong.refusals.contains(&told.as_str());
                if refusal.as_ref().is_err_and(is_expected) {
                    refused.insert((kind.clone(), wrong.key));
                } else {
                    unexpected.push(format!("{}.{}: {refusal:?}", path.join("."), wrong.key));
                }
            }
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let count = |key| refused.iter().filter(|(_, of)| *of == key).count();
    // A kind that no longer appears here has lost its check or its experiment.
    assert_eq!(["packet", "tfrc"].map(count), [21, 23], "{refused:?}");
}
